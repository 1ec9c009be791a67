"""Between the classic and the consumer protocol, while members keep running (KIP-848).

upgrade.py          a classic group becomes a consumer group when a first member of the
                    consumer protocol joins; the others go on as they are
classic_members.py  members that speak JoinGroup and SyncGroup to a consumer group
downgrade.py        the last member of the consumer protocol is gone: classic again
"""
