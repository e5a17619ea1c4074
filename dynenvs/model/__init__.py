"""The description of robots and grounds, and the Model that is packed from it."""
