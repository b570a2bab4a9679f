CREATE TABLE state (
    one INTEGER PRIMARY KEY CHECK (one = 1),
    change INTEGER NOT NULL
);

CREATE TABLE scopes (
    number INTEGER PRIMARY KEY,
    name TEXT NOT NULL,
    lent TEXT NOT NULL DEFAULT '',
    change INTEGER NOT NULL DEFAULT 0,
    moved INTEGER NOT NULL DEFAULT 0,
    total INTEGER NOT NULL DEFAULT 0,
    active INTEGER NOT NULL DEFAULT 0,
    UNIQUE (name, lent)
);

CREATE TABLE memories (
    number INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    scope INTEGER NOT NULL REFERENCES scopes (number),
    kind TEXT NOT NULL,
    status TEXT NOT NULL,
    source TEXT NOT NULL,
    valid_from_ms INTEGER NOT NULL,
    valid_to_ms INTEGER,
    created_at_ms INTEGER NOT NULL,
    importance REAL NOT NULL,
    pinned INTEGER NOT NULL,
    error_signature TEXT NOT NULL,
    use_count INTEGER NOT NULL,
    change INTEGER NOT NULL,
    version INTEGER NOT NULL,
    body TEXT NOT NULL,
    breadth REAL NOT NULL DEFAULT 1.0,
    shown_count INTEGER NOT NULL DEFAULT 0
);

CREATE INDEX memories_by_change ON memories (scope, change);

CREATE INDEX memories_by_age ON memories (created_at_ms DESC, id);

CREATE INDEX memories_by_standing ON memories (scope, kind, pinned DESC, importance DESC, id)
WHERE status = 'active';

CREATE INDEX memories_by_error ON memories (error_signature, scope) WHERE error_signature <> '';

CREATE INDEX memories_by_breadth ON memories (scope, kind, pinned DESC, breadth DESC, importance DESC, id)
WHERE status = 'active';

-- A session start asks for what a rule file said, an answer on demand for what waits: few of many.
CREATE INDEX memories_by_status ON memories (status, scope);

CREATE INDEX memories_by_source ON memories (source, scope);

-- An import asks of every statement whether the same words wait already, among as many as it has brought before.
CREATE INDEX memories_waiting ON memories (scope, lower(json_extract(body, '$.content')))
WHERE status = 'quarantined';

-- The newest of a kind, without a look at the others: digests, decisions, the sections of a block.
CREATE INDEX memories_by_kind ON memories (scope, kind, created_at_ms DESC, id)
WHERE status = 'active';

CREATE INDEX memories_pinned ON memories (scope, created_at_ms DESC, id)
WHERE status = 'active' AND pinned = 1;

CREATE TABLE versions (
    memory INTEGER NOT NULL REFERENCES memories (number),
    version INTEGER NOT NULL,
    recorded_at_ms INTEGER NOT NULL,
    scope INTEGER NOT NULL REFERENCES scopes (number),
    reason TEXT NOT NULL,
    body TEXT NOT NULL,
    change_id TEXT NOT NULL DEFAULT '',
    PRIMARY KEY (memory, version)
) WITHOUT ROWID;

CREATE INDEX versions_by_change ON versions (change_id);

CREATE TABLE relations (
    source INTEGER NOT NULL REFERENCES memories (number),
    target INTEGER NOT NULL REFERENCES memories (number),
    type TEXT NOT NULL,
    weight REAL NOT NULL,
    PRIMARY KEY (source, target, type)
) WITHOUT ROWID;

CREATE INDEX relations_by_target ON relations (target);

CREATE TABLE identities (
    number INTEGER PRIMARY KEY,
    name TEXT NOT NULL,
    dimensions INTEGER NOT NULL,
    UNIQUE (name, dimensions)
);

CREATE TABLE vectors (
    memory INTEGER PRIMARY KEY REFERENCES memories (number),
    identity INTEGER NOT NULL REFERENCES identities (number),
    vector BLOB NOT NULL
);

CREATE INDEX vectors_by_identity ON vectors (identity);

CREATE TABLE sessions (
    host TEXT NOT NULL,
    session_id TEXT NOT NULL,
    last_signal_at_ms INTEGER NOT NULL,
    body TEXT NOT NULL,
    PRIMARY KEY (host, session_id)
);

CREATE INDEX sessions_by_signal ON sessions (last_signal_at_ms DESC, host, session_id);

CREATE TABLE exposures (
    host TEXT NOT NULL,
    session_id TEXT NOT NULL,
    memory_id TEXT NOT NULL,
    content_hash TEXT NOT NULL,
    epoch INTEGER NOT NULL,
    turn INTEGER NOT NULL,
    surface TEXT NOT NULL,
    tokens INTEGER NOT NULL,
    at_ms INTEGER NOT NULL,
    PRIMARY KEY (host, session_id, memory_id, content_hash, epoch, turn, surface, tokens, at_ms)
) WITHOUT ROWID;

CREATE TABLE traces (
    id TEXT PRIMARY KEY,
    session TEXT NOT NULL,
    surface TEXT NOT NULL,
    at_ms INTEGER NOT NULL,
    body TEXT NOT NULL
);

CREATE INDEX traces_by_time ON traces (at_ms DESC, id DESC);

CREATE INDEX traces_by_session ON traces (session, at_ms DESC, id DESC);

CREATE TABLE handovers (
    key TEXT PRIMARY KEY,
    host TEXT NOT NULL,
    session_id TEXT NOT NULL,
    payload TEXT NOT NULL,
    at_ms INTEGER NOT NULL,
    attempts INTEGER NOT NULL,
    error TEXT NOT NULL,
    done_at_ms INTEGER
);

CREATE INDEX handovers_pending ON handovers (at_ms, key) WHERE done_at_ms IS NULL;

CREATE TABLE projects (id TEXT PRIMARY KEY, body TEXT NOT NULL);

CREATE TABLE named_values (name TEXT PRIMARY KEY, value TEXT NOT NULL);

INSERT INTO state (one, change) VALUES (1, 0);

CREATE TABLE documents (
    memory INTEGER PRIMARY KEY REFERENCES memories (number),
    scope TEXT NOT NULL,
    words TEXT NOT NULL,
    code TEXT NOT NULL
);

CREATE VIRTUAL TABLE text_words USING fts5 (
    scope, words, content = 'documents', content_rowid = 'memory', tokenize = 'porter unicode61'
);

CREATE VIRTUAL TABLE text_code USING fts5 (
    scope, code, content = 'documents', content_rowid = 'memory', tokenize = 'unicode61'
);

INSERT INTO text_words (text_words, rank) VALUES ('rank', 'bm25(0.0, 1.0)');

INSERT INTO text_code (text_code, rank) VALUES ('rank', 'bm25(0.0, 1.0)');

CREATE VIRTUAL TABLE text_words_terms USING fts5vocab (text_words, row);

CREATE VIRTUAL TABLE text_code_terms USING fts5vocab (text_code, row);

CREATE TRIGGER documents_added AFTER INSERT ON documents BEGIN
    INSERT INTO text_words (rowid, scope, words) VALUES (new.memory, new.scope, new.words);
    INSERT INTO text_code (rowid, scope, code) VALUES (new.memory, new.scope, new.code);
END;

CREATE TRIGGER documents_gone AFTER DELETE ON documents BEGIN
    INSERT INTO text_words (text_words, rowid, scope, words)
        VALUES ('delete', old.memory, old.scope, old.words);
    INSERT INTO text_code (text_code, rowid, scope, code)
        VALUES ('delete', old.memory, old.scope, old.code);
END;

CREATE TABLE entities (
    number INTEGER PRIMARY KEY,
    kind TEXT NOT NULL,
    key TEXT NOT NULL,
    UNIQUE (kind, key)
);

CREATE TABLE memory_entities (
    entity INTEGER NOT NULL REFERENCES entities (number),
    scope INTEGER NOT NULL REFERENCES scopes (number),
    memory INTEGER NOT NULL REFERENCES memories (number),
    PRIMARY KEY (entity, scope, memory)
) WITHOUT ROWID;

CREATE INDEX memory_entities_by_memory ON memory_entities (memory);

CREATE TABLE actions (number INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE);

CREATE TABLE intents (memory INTEGER PRIMARY KEY REFERENCES memories (number), weights BLOB NOT NULL);
