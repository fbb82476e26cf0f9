-- Messages to brokers, schema version 1. A message is here, on the disk, before anything is told of it, and stays until
-- the broker has acknowledged it; acknowledged ones are kept, so that a count is sent again only when it changes.

CREATE TABLE messages (
    broker      TEXT NOT NULL,          -- where it goes
    id          TEXT NOT NULL,          -- run, row and revision
    run_id      TEXT NOT NULL,
    row         INTEGER NOT NULL,
    revision    INTEGER NOT NULL,       -- from 1; a newer one is made when a count changes
    topic       TEXT NOT NULL,
    content     TEXT NOT NULL,          -- JSON without id and revision: tells whether a count changed
    payload     BLOB NOT NULL,
    state       TEXT NOT NULL DEFAULT 'waiting' CHECK (state IN ('waiting', 'acknowledged', 'replaced')),
    PRIMARY KEY (broker, id)
) STRICT;

CREATE INDEX messages_of_rows ON messages (broker, run_id, row, revision);
CREATE INDEX messages_waiting ON messages (broker) WHERE state = 'waiting';
