-- The run database, schema version 3. Everything that a run knows lies here; the files beside it are written from it.
-- Lengths are pixels, times that matter are durations; wall clock times (ISO 8601, UTC) are labels and may be wrong.
-- A mask is COCO's compressed run lengths (text) of its own small frame of mask_width_px x mask_height_px, and the place
-- of that frame: on a long panorama it costs what its own size costs.

CREATE TABLE runs (
    id              INTEGER PRIMARY KEY,
    edgekit         TEXT NOT NULL,      -- version that started the run
    started_at      TEXT NOT NULL,
    finished_at     TEXT,
    model           TEXT NOT NULL,      -- JSON: what the graph says of itself, and where it runs
    model_id        TEXT NOT NULL,      -- digest of everything that moves a score
    settings        TEXT NOT NULL,      -- JSON: tiles, merging, panorama
    threshold       REAL NOT NULL CHECK (threshold BETWEEN 0 AND 1),
    threshold_from  TEXT NOT NULL,
    season          TEXT,               -- JSON: name, thresholds by height, confidences; null without a season's profile
    state           TEXT NOT NULL DEFAULT 'running' CHECK (state IN ('running', 'finished'))
) STRICT;

-- A source is one row of the greenhouse: a video, a folder of frames, a finished panorama, or what a camera saw while the
-- trolley rode along it (live).
CREATE TABLE sources (
    id          INTEGER PRIMARY KEY,
    run_id      INTEGER NOT NULL REFERENCES runs (id),
    number      INTEGER NOT NULL,       -- place on the command line, or order of opening, from 0
    path        TEXT NOT NULL,          -- of a live row: its name and side
    kind        TEXT NOT NULL CHECK (kind IN ('frames', 'panorama', 'live')),
    fingerprint TEXT NOT NULL,          -- names, sizes and times of its files: tells whether it changed
    state       TEXT NOT NULL DEFAULT 'waiting' CHECK (state IN ('open', 'waiting', 'cut', 'merged', 'failed')),
    frames      INTEGER,                -- these four are known once every tile is cut (live: once the row is closed)
    width_px    INTEGER,
    height_px   INTEGER,
    segments    INTEGER,
    row         TEXT,                   -- live only: its name
    side        TEXT,                   -- live only: left or right, as one looks ahead
    opened_by   TEXT,                   -- live only: marker, command, movement
    opened_at   TEXT,                   -- live only: wall clock, a label; the order is that of the numbers
    pictures    INTEGER NOT NULL DEFAULT 1 CHECK (pictures IN (0, 1)),  -- 0: not kept, for want of space
    px_per_metre REAL,                  -- scale that was measured in this row (encoder, marker, camera); else the run's
    bridged     TEXT NOT NULL DEFAULT '[]',  -- JSON: [first column, the one after the last] where movement was predicted
    UNIQUE (run_id, number)
) STRICT;

-- A process that wrote the run; the newest one tells when the run was last alive. Seconds of one boot_id are comparable
-- whatever the clock does.
CREATE TABLE sittings (
    id          INTEGER PRIMARY KEY,
    run_id      INTEGER NOT NULL REFERENCES runs (id),
    boot_id     TEXT NOT NULL,
    alive_s     REAL NOT NULL,          -- monotonic
    alive_at    TEXT NOT NULL,          -- wall clock: a label
    ended       INTEGER NOT NULL DEFAULT 0 CHECK (ended IN (0, 1))  -- 1: in an orderly way
) STRICT;

CREATE TABLE tiles (
    id          INTEGER PRIMARY KEY,
    source_id   INTEGER NOT NULL REFERENCES sources (id),
    number      INTEGER NOT NULL,       -- order of cutting, from 0
    x_px        INTEGER NOT NULL,       -- left and top edge in the panorama
    y_px        INTEGER NOT NULL,
    size_px     INTEGER NOT NULL,
    candidates  INTEGER NOT NULL,       -- rows above the floor before the model's limit cut them
    flags       INTEGER NOT NULL,       -- bit 0: NMS not converged, bit 1: proposals cut
    UNIQUE (source_id, number)
) STRICT;

-- Every detection at or above the model's score floor, in tile pixels.
CREATE TABLE detections (
    id              INTEGER PRIMARY KEY,
    tile_id         INTEGER NOT NULL REFERENCES tiles (id),
    number          INTEGER NOT NULL,   -- rank in the tile, from 0
    score           REAL NOT NULL,
    label           INTEGER NOT NULL,   -- class index from 0
    x0_px           REAL NOT NULL,
    y0_px           REAL NOT NULL,
    x1_px           REAL NOT NULL,
    y1_px           REAL NOT NULL,
    mask_x_px       INTEGER NOT NULL,   -- where the mask's frame lies in the tile, and its size
    mask_y_px       INTEGER NOT NULL,
    mask_width_px   INTEGER NOT NULL,
    mask_height_px  INTEGER NOT NULL,
    rle             TEXT NOT NULL,
    UNIQUE (tile_id, number)
) STRICT;

-- What merging made of the detections, everything above the floor, in panorama pixels. A count is the number of rows
-- at or above a threshold.
CREATE TABLE fruit (
    id              INTEGER PRIMARY KEY,
    source_id       INTEGER NOT NULL REFERENCES sources (id),
    number          INTEGER NOT NULL,   -- from left to right, from 0
    score           REAL NOT NULL,
    label           INTEGER NOT NULL,
    x0_px           REAL NOT NULL,
    y0_px           REAL NOT NULL,
    x1_px           REAL NOT NULL,
    y1_px           REAL NOT NULL,
    area_px         INTEGER NOT NULL,
    cut             INTEGER NOT NULL CHECK (cut IN (0, 1)),  -- 1: no tile saw it whole
    pieces          INTEGER NOT NULL,   -- detections that it was made of
    mask_x_px       INTEGER NOT NULL,   -- where the mask's frame lies in the panorama, and its size
    mask_y_px       INTEGER NOT NULL,
    mask_width_px   INTEGER NOT NULL,
    mask_height_px  INTEGER NOT NULL,
    rle             TEXT NOT NULL,
    UNIQUE (source_id, number)
) STRICT;

CREATE INDEX fruit_by_score ON fruit (source_id, score);

CREATE TABLE events (
    id          INTEGER PRIMARY KEY,
    run_id      INTEGER NOT NULL REFERENCES runs (id),
    source_id   INTEGER REFERENCES sources (id),
    at          TEXT NOT NULL,          -- wall clock: a label
    kind        TEXT NOT NULL,          -- started, resumed, source fault, limit, set aside, finished
    message     TEXT NOT NULL
) STRICT;
