"""Classic groups: JoinGroup and SyncGroup, with a leader who assigns."""
