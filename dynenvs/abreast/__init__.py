"""Four worlds abreast: the part of a step that takes the same way in every world."""
