"""The command line: a file a command group, loaded when it is used; the only place that prints."""
