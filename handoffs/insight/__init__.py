"""What can be read from the rows; nothing here writes."""
