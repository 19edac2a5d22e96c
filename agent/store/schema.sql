-- The newest schema. A change here is a migration too (migrations.go); a test compares.

CREATE TABLE sessions (
	id           TEXT PRIMARY KEY,
	cwd          TEXT NOT NULL,
	folders      TEXT NOT NULL, -- JSON array
	title        TEXT NOT NULL,
	model        TEXT NOT NULL,
	mode         TEXT NOT NULL,
	preferred    TEXT NOT NULL DEFAULT '', -- the model that the user chose for the session, or empty
	thinking     TEXT NOT NULL DEFAULT '', -- the thinking that the user chose for the session, or empty
	parent       TEXT NOT NULL,
	origin       TEXT NOT NULL, -- JSON, or empty
	root         TEXT NOT NULL, -- the oldest ancestor of a branch, or empty
	forked_at    TEXT NOT NULL, -- id of the last message shared with the parent, or empty
	notes        TEXT NOT NULL,
	created_at   INTEGER NOT NULL, -- microseconds since 1970
	updated_at   INTEGER NOT NULL,
	rewinds      INTEGER NOT NULL DEFAULT 0, -- how often the session was rewound
	-- Sums over its messages, so that they need not be read.
	messages     INTEGER NOT NULL DEFAULT 0,
	requests     INTEGER NOT NULL DEFAULT 0,
	input        INTEGER NOT NULL DEFAULT 0,
	output       INTEGER NOT NULL DEFAULT 0,
	thought      INTEGER NOT NULL DEFAULT 0,
	cached_read  INTEGER NOT NULL DEFAULT 0,
	cached_write INTEGER NOT NULL DEFAULT 0,
	cost         REAL NOT NULL DEFAULT 0
) STRICT, WITHOUT ROWID;
CREATE INDEX sessions_by_age ON sessions (updated_at, id);
CREATE INDEX sessions_by_cwd ON sessions (cwd, updated_at, id);
CREATE INDEX sessions_by_parent ON sessions (parent, updated_at, id) WHERE parent != '';
CREATE INDEX sessions_by_root ON sessions (root) WHERE root != '';

-- Long columns that do not change are in a table of their own, so that listing does not read them.
CREATE TABLE heads (
	session_id TEXT PRIMARY KEY REFERENCES sessions (id) ON DELETE CASCADE,
	system     TEXT NOT NULL,
	tools      TEXT NOT NULL -- JSON array
) STRICT;

-- Messages belong to a log. A session consists of pieces of logs, so that branches
-- share their common messages.
CREATE TABLE logs (
	id    TEXT PRIMARY KEY,
	loose INTEGER NOT NULL DEFAULT 0 -- 1: it may have messages that no piece contains
) STRICT, WITHOUT ROWID;
CREATE INDEX logs_loose ON logs (id) WHERE loose;
CREATE TABLE pieces (
	session_id TEXT NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
	first      INTEGER NOT NULL, -- seq
	last       INTEGER NOT NULL, -- seq; for a session's own log, which grows, the maximum
	log        TEXT NOT NULL REFERENCES logs (id),
	PRIMARY KEY (session_id, first)
) STRICT, WITHOUT ROWID;
CREATE INDEX pieces_by_log ON pieces (log, last);

-- Long columns are last, so that sums of usage do not read them.
CREATE TABLE messages (
	key          INTEGER PRIMARY KEY,
	log          TEXT NOT NULL REFERENCES logs (id) ON DELETE CASCADE,
	seq          INTEGER NOT NULL,
	id           TEXT NOT NULL,
	time         INTEGER NOT NULL, -- microseconds since 1970
	role         TEXT NOT NULL,
	note         INTEGER NOT NULL,
	typed        INTEGER NOT NULL,
	is_error     INTEGER NOT NULL,
	input        INTEGER, -- tokens; null if the usage is unknown
	output       INTEGER,
	thought      INTEGER,
	cached_read  INTEGER,
	cached_write INTEGER,
	cost         REAL, -- US dollars
	call_id      TEXT NOT NULL,
	name         TEXT NOT NULL,
	text         TEXT NOT NULL,
	reasoning    TEXT NOT NULL,
	calls        TEXT NOT NULL, -- JSON array, or empty
	shown        TEXT NOT NULL, -- JSON array, or empty
	images       TEXT NOT NULL, -- JSON array, or empty
	keeps        INTEGER NOT NULL DEFAULT 0, -- of a compaction: the first message that it keeps
	sent         TEXT NOT NULL DEFAULT '', -- JSON object, or empty: the form in which each endpoint received the images
	parts        TEXT NOT NULL DEFAULT '', -- JSON array, or empty: the order and the state of the parts, if it is not the usual one
	UNIQUE (log, seq)
) STRICT;

-- Endpoints and models that rejected a picture.
CREATE TABLE rejections (
	endpoint TEXT NOT NULL,
	model    TEXT NOT NULL,
	at       INTEGER NOT NULL, -- microseconds since 1970
	PRIMARY KEY (endpoint, model)
) STRICT, WITHOUT ROWID;

-- Values that extensions store with a session.
CREATE TABLE state (
	session_id TEXT NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
	namespace  TEXT NOT NULL,
	key        TEXT NOT NULL,
	value      BLOB NOT NULL,
	PRIMARY KEY (session_id, namespace, key)
) STRICT, WITHOUT ROWID;

-- Indexes for searches in a log.
CREATE INDEX messages_compactions ON messages (log, seq) WHERE keeps != 0;
CREATE INDEX messages_results ON messages (log, call_id) WHERE call_id != '';
CREATE INDEX messages_todos ON messages (log, seq) WHERE name = 'todo';

-- Text of the user and the model, without text that was added for the model. The
-- index refers to it and has no copy.
CREATE VIEW said (key, text) AS
	SELECT key, iif(role = 'user', CAST(substr(CAST(text AS BLOB), 1, typed) AS TEXT), text)
	FROM messages WHERE role IN ('user', 'assistant') AND note = 0 AND text != '';
CREATE VIRTUAL TABLE words USING fts5 (text, content = 'said', content_rowid = 'key', tokenize = 'unicode61 remove_diacritics 2');
-- Messages up to this key are indexed. Indexing many at once costs a tenth.
CREATE TABLE indexed (upto INTEGER NOT NULL) STRICT;
INSERT INTO indexed VALUES (0);
CREATE TRIGGER messages_unsaid BEFORE DELETE ON messages WHEN old.key <= (SELECT upto FROM indexed) BEGIN
	INSERT INTO words (words, rowid, text) SELECT 'delete', key, text FROM said WHERE key = old.key;
END;
-- SQLite reuses the last key.
CREATE TRIGGER messages_gone AFTER DELETE ON messages WHEN (SELECT coalesce(max(key), 0) FROM messages) < (SELECT upto FROM indexed) BEGIN
	UPDATE indexed SET upto = (SELECT coalesce(max(key), 0) FROM messages);
END;
