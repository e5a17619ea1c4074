"""What environments share: tasks, arrays of worlds, the shells for Gymnasium, a step's loop."""
