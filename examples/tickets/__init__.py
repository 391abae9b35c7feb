"""Support tickets, classified by an agent outside that may ask; some need a person to check who wrote."""
