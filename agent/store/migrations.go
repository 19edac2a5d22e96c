package store

// migrations update a file of an older version. They are applied in order; the file's
// user_version is their number. A released migration is never edited. A change is a new
// migration at the end, and an edit of schema.sql, which creates new files.
var migrations = []string{`
CREATE TABLE sessions (
	id         TEXT PRIMARY KEY,
	cwd        TEXT NOT NULL,
	folders    TEXT NOT NULL, -- JSON array
	title      TEXT NOT NULL,
	model      TEXT NOT NULL,
	mode       TEXT NOT NULL,
	parent     TEXT NOT NULL,
	created_at INTEGER NOT NULL, -- microseconds since 1970
	updated_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX sessions_by_age ON sessions (updated_at, id);
CREATE INDEX sessions_by_cwd ON sessions (cwd, updated_at, id);

-- What is frozen and long stands apart, so that listing does not read it.
CREATE TABLE heads (
	session_id TEXT PRIMARY KEY REFERENCES sessions (id) ON DELETE CASCADE,
	system     TEXT NOT NULL,
	tools      TEXT NOT NULL -- JSON array
) STRICT;

-- Long columns stand last: sums of usage never read them.
CREATE TABLE messages (
	key          INTEGER PRIMARY KEY,
	session_id   TEXT NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
	seq          INTEGER NOT NULL,
	id           TEXT NOT NULL,
	time         INTEGER NOT NULL, -- microseconds since 1970
	role         TEXT NOT NULL,
	note         INTEGER NOT NULL,
	typed        INTEGER NOT NULL,
	is_error     INTEGER NOT NULL,
	input        INTEGER, -- tokens; null when no usage is known
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
	UNIQUE (session_id, seq)
) STRICT;

CREATE TRIGGER messages_touch_session AFTER INSERT ON messages BEGIN
	UPDATE sessions SET updated_at = max(updated_at, new.time) WHERE id = new.session_id;
END;
`, `
ALTER TABLE sessions ADD COLUMN origin TEXT NOT NULL DEFAULT ''; -- JSON, or empty
CREATE INDEX sessions_by_parent ON sessions (parent, updated_at, id) WHERE parent != '';
`, `
ALTER TABLE messages ADD COLUMN keeps INTEGER NOT NULL DEFAULT 0; -- a compaction's: the first message that is not summed up
CREATE INDEX messages_compactions ON messages (session_id, seq) WHERE keeps != 0;
`, `
ALTER TABLE sessions ADD COLUMN notes TEXT NOT NULL DEFAULT '';
ALTER TABLE sessions ADD COLUMN root TEXT NOT NULL DEFAULT ''; -- the oldest ancestor of a branch, or empty
ALTER TABLE sessions ADD COLUMN forked_at TEXT NOT NULL DEFAULT ''; -- id of the last message shared with the parent, or empty
ALTER TABLE sessions ADD COLUMN rewinds INTEGER NOT NULL DEFAULT 0; -- how often the log has lost its end to a branch
-- Sums over the log, so that nobody has to read it to know them.
ALTER TABLE sessions ADD COLUMN messages INTEGER NOT NULL DEFAULT 0;
ALTER TABLE sessions ADD COLUMN requests INTEGER NOT NULL DEFAULT 0;
ALTER TABLE sessions ADD COLUMN input INTEGER NOT NULL DEFAULT 0;
ALTER TABLE sessions ADD COLUMN output INTEGER NOT NULL DEFAULT 0;
ALTER TABLE sessions ADD COLUMN thought INTEGER NOT NULL DEFAULT 0;
ALTER TABLE sessions ADD COLUMN cached_read INTEGER NOT NULL DEFAULT 0;
ALTER TABLE sessions ADD COLUMN cached_write INTEGER NOT NULL DEFAULT 0;
ALTER TABLE sessions ADD COLUMN cost REAL NOT NULL DEFAULT 0;
CREATE INDEX sessions_by_root ON sessions (root) WHERE root != '';
` + sumUp + `;
DROP TRIGGER messages_touch_session; -- whoever adds a message adds to the sums too

-- What is looked for in a log without reading it.
CREATE INDEX messages_results ON messages (session_id, call_id) WHERE call_id != '';
CREATE INDEX messages_todos ON messages (session_id, seq) WHERE name = 'todo';

-- What people and the model have said, without what was added for the model. The
-- index refers to it and keeps no copy.
CREATE VIEW said (key, text) AS
	SELECT key, iif(role = 'user', CAST(substr(CAST(text AS BLOB), 1, typed) AS TEXT), text)
	FROM messages WHERE role IN ('user', 'assistant') AND note = 0 AND text != '';
CREATE VIRTUAL TABLE words USING fts5 (text, content = 'said', content_rowid = 'key', tokenize = 'unicode61 remove_diacritics 2');
-- Messages are indexed many at once, which costs a tenth: those up to this key are.
CREATE TABLE indexed (upto INTEGER NOT NULL) STRICT;
INSERT INTO indexed VALUES (0);
CREATE TRIGGER messages_unsaid BEFORE DELETE ON messages WHEN old.key <= (SELECT upto FROM indexed) BEGIN
	INSERT INTO words (words, rowid, text) SELECT 'delete', key, text FROM said WHERE key = old.key;
END;
-- A key that was the last one is given again.
CREATE TRIGGER messages_gone AFTER DELETE ON messages WHEN (SELECT coalesce(max(key), 0) FROM messages) < (SELECT upto FROM indexed) BEGIN
	UPDATE indexed SET upto = (SELECT coalesce(max(key), 0) FROM messages);
END;
`, `
-- Messages belong to a log. What a session says is made of pieces of logs, so that
-- branches share what they have in common. The foreign key of messages follows.
ALTER TABLE sessions RENAME TO logs;
DROP INDEX sessions_by_age;
DROP INDEX sessions_by_cwd;
DROP INDEX sessions_by_parent;
DROP INDEX sessions_by_root;
ALTER TABLE messages RENAME COLUMN session_id TO log;
CREATE TABLE sessions (
	id           TEXT PRIMARY KEY,
	cwd          TEXT NOT NULL,
	folders      TEXT NOT NULL, -- JSON array
	title        TEXT NOT NULL,
	model        TEXT NOT NULL,
	mode         TEXT NOT NULL,
	parent       TEXT NOT NULL,
	origin       TEXT NOT NULL, -- JSON, or empty
	root         TEXT NOT NULL, -- the oldest ancestor of a branch, or empty
	forked_at    TEXT NOT NULL, -- id of the last message shared with the parent, or empty
	notes        TEXT NOT NULL,
	created_at   INTEGER NOT NULL, -- microseconds since 1970
	updated_at   INTEGER NOT NULL,
	rewinds      INTEGER NOT NULL DEFAULT 0, -- how often the session has lost its end to a branch
	-- Sums over its messages, so that nobody has to read them to know them.
	messages     INTEGER NOT NULL DEFAULT 0,
	requests     INTEGER NOT NULL DEFAULT 0,
	input        INTEGER NOT NULL DEFAULT 0,
	output       INTEGER NOT NULL DEFAULT 0,
	thought      INTEGER NOT NULL DEFAULT 0,
	cached_read  INTEGER NOT NULL DEFAULT 0,
	cached_write INTEGER NOT NULL DEFAULT 0,
	cost         REAL NOT NULL DEFAULT 0
) STRICT, WITHOUT ROWID;
INSERT INTO sessions SELECT id, cwd, folders, title, model, mode, parent, origin, root, forked_at, notes, created_at, updated_at,
	rewinds, messages, requests, input, output, thought, cached_read, cached_write, cost FROM logs;
CREATE INDEX sessions_by_age ON sessions (updated_at, id);
CREATE INDEX sessions_by_cwd ON sessions (cwd, updated_at, id);
CREATE INDEX sessions_by_parent ON sessions (parent, updated_at, id) WHERE parent != '';
CREATE INDEX sessions_by_root ON sessions (root) WHERE root != '';
ALTER TABLE logs DROP COLUMN cwd;
ALTER TABLE logs DROP COLUMN folders;
ALTER TABLE logs DROP COLUMN title;
ALTER TABLE logs DROP COLUMN model;
ALTER TABLE logs DROP COLUMN mode;
ALTER TABLE logs DROP COLUMN parent;
ALTER TABLE logs DROP COLUMN created_at;
ALTER TABLE logs DROP COLUMN updated_at;
ALTER TABLE logs DROP COLUMN origin;
ALTER TABLE logs DROP COLUMN notes;
ALTER TABLE logs DROP COLUMN root;
ALTER TABLE logs DROP COLUMN forked_at;
ALTER TABLE logs DROP COLUMN rewinds;
ALTER TABLE logs DROP COLUMN messages;
ALTER TABLE logs DROP COLUMN requests;
ALTER TABLE logs DROP COLUMN input;
ALTER TABLE logs DROP COLUMN output;
ALTER TABLE logs DROP COLUMN thought;
ALTER TABLE logs DROP COLUMN cached_read;
ALTER TABLE logs DROP COLUMN cached_write;
ALTER TABLE logs DROP COLUMN cost;
ALTER TABLE logs ADD COLUMN loose INTEGER NOT NULL DEFAULT 0; -- it may have messages that no piece reaches
CREATE INDEX logs_loose ON logs (id) WHERE loose;
CREATE TABLE pieces (
	session_id TEXT NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
	first      INTEGER NOT NULL, -- seq
	last       INTEGER NOT NULL, -- seq; of a session's own log, which grows, the highest there can be
	log        TEXT NOT NULL REFERENCES logs (id),
	PRIMARY KEY (session_id, first)
) STRICT, WITHOUT ROWID;
CREATE INDEX pieces_by_log ON pieces (log, last);
INSERT INTO pieces SELECT id, 1, 9223372036854775807, id FROM logs;
ALTER TABLE heads RENAME TO old_heads;
CREATE TABLE heads (
	session_id TEXT PRIMARY KEY REFERENCES sessions (id) ON DELETE CASCADE,
	system     TEXT NOT NULL,
	tools      TEXT NOT NULL -- JSON array
) STRICT;
INSERT INTO heads SELECT session_id, system, tools FROM old_heads;
DROP TABLE old_heads;
`, `
ALTER TABLE sessions ADD COLUMN preferred TEXT NOT NULL DEFAULT ''; -- the model that was chosen for the session, or empty
ALTER TABLE sessions ADD COLUMN thinking TEXT NOT NULL DEFAULT ''; -- the same of thinking
`, `
ALTER TABLE messages ADD COLUMN sent TEXT NOT NULL DEFAULT ''; -- JSON object, or empty: the form in which each endpoint got the images
-- Endpoints and models that rejected a picture.
CREATE TABLE rejections (
	endpoint TEXT NOT NULL,
	model    TEXT NOT NULL,
	at       INTEGER NOT NULL, -- microseconds since 1970
	PRIMARY KEY (endpoint, model)
) STRICT, WITHOUT ROWID;
`, `
-- Messages have parts. Those that are there have them in the usual order, which needs no
-- layout: no row is changed.
ALTER TABLE messages ADD COLUMN parts TEXT NOT NULL DEFAULT ''; -- JSON array, or empty: the order and the state of the parts, if it is not the usual one
`, `
-- Values that extensions keep with a session.
CREATE TABLE state (
	session_id TEXT NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
	namespace  TEXT NOT NULL,
	key        TEXT NOT NULL,
	value      BLOB NOT NULL,
	PRIMARY KEY (session_id, namespace, key)
) STRICT, WITHOUT ROWID;
`}

// sumUp computed the sums in sessions from messages, before there were pieces.
const sumUp = `UPDATE sessions SET (messages, requests, input, output, thought, cached_read, cached_write, cost) = (
	SELECT count(*), count(input), coalesce(sum(input), 0), coalesce(sum(output), 0), coalesce(sum(thought), 0),
		coalesce(sum(cached_read), 0), coalesce(sum(cached_write), 0), coalesce(sum(cost), 0.0)
	FROM messages WHERE session_id = sessions.id)`
