-- The index of an archive. It has nothing that the archive does not have, and is made again from it when it is lost.

-- What was found under each key of the archive. A reason says why it is no document that can be shown.
CREATE TABLE entries (
  key TEXT PRIMARY KEY,
  bytes INTEGER NOT NULL,
  modified INTEGER NOT NULL,
  digest BLOB NOT NULL,
  namespace TEXT NOT NULL,
  reason TEXT NOT NULL,
  message TEXT NOT NULL
) WITHOUT ROWID;
CREATE INDEX entries_damaged ON entries (key) WHERE reason != '';

-- Documents of runs and of executions of suites. What no query selects by is in facts. Times are milliseconds since 1970; 0 is none.
CREATE TABLE documents (
  id INTEGER PRIMARY KEY,
  key TEXT NOT NULL UNIQUE,
  kind TEXT NOT NULL,
  namespace TEXT NOT NULL,
  name TEXT NOT NULL,
  uid TEXT NOT NULL,
  experiment TEXT NOT NULL,
  testbed TEXT NOT NULL,
  suite TEXT NOT NULL,
  execution TEXT NOT NULL,
  executionUID TEXT NOT NULL,
  cell TEXT NOT NULL,
  repeat INTEGER NOT NULL,
  isConfirmation INTEGER NOT NULL,
  created INTEGER NOT NULL,
  time INTEGER NOT NULL,
  verdict TEXT NOT NULL,
  subject TEXT NOT NULL,
  leg TEXT NOT NULL DEFAULT '',
  facts TEXT NOT NULL,
  UNIQUE (kind, namespace, uid)
);
CREATE INDEX documents_time ON documents (kind, time, key);
CREATE INDEX documents_namespace ON documents (kind, namespace, time, key);
CREATE INDEX documents_testbed ON documents (kind, testbed, time, key);
CREATE INDEX documents_experiment ON documents (kind, experiment, time, key);
CREATE INDEX documents_suite ON documents (kind, suite, time, key);
CREATE INDEX documents_verdict ON documents (kind, verdict, time, key);
CREATE INDEX documents_name ON documents (kind, namespace, name);
CREATE INDEX documents_uid ON documents (kind, uid);
CREATE INDEX documents_execution ON documents (executionUID) WHERE executionUID != '';

-- The runs that executions of suites name, whether their documents are there or not.
CREATE TABLE members (
  namespace TEXT NOT NULL,
  run TEXT NOT NULL,
  document INTEGER NOT NULL REFERENCES documents ON DELETE CASCADE,
  cell TEXT NOT NULL,
  repeat INTEGER NOT NULL,
  started INTEGER NOT NULL,
  completed INTEGER NOT NULL,
  -- subject is that of the run, leg a leg without its run's side, both JSON.
  subject TEXT NOT NULL,
  leg TEXT NOT NULL,
  PRIMARY KEY (namespace, run, document)
) WITHOUT ROWID;
CREATE INDEX members_document ON members (document);

-- A digest names a series in an address.
CREATE TABLE series (
  id INTEGER PRIMARY KEY,
  digest TEXT NOT NULL UNIQUE,
  namespace TEXT NOT NULL,
  experiment TEXT NOT NULL,
  testbed TEXT NOT NULL,
  figure TEXT NOT NULL
);
CREATE INDEX series_order ON series (namespace, experiment, testbed, figure);
CREATE TABLE platforms (
  id INTEGER PRIMARY KEY,
  parts TEXT NOT NULL UNIQUE
);
-- A point is JSON without what the other columns and tables have.
CREATE TABLE points (
  series INTEGER NOT NULL REFERENCES series,
  time INTEGER NOT NULL,
  document INTEGER NOT NULL REFERENCES documents ON DELETE CASCADE,
  platform INTEGER NOT NULL REFERENCES platforms,
  point TEXT NOT NULL,
  PRIMARY KEY (series, time, document)
) WITHOUT ROWID;
CREATE INDEX points_document ON points (document);

-- What suites said of their series after an execution.
CREATE TABLE verdicts (
  document INTEGER NOT NULL REFERENCES documents ON DELETE CASCADE,
  series TEXT NOT NULL,
  time INTEGER NOT NULL,
  namespace TEXT NOT NULL,
  suite TEXT NOT NULL,
  verdict TEXT NOT NULL,
  run TEXT NOT NULL,
  said TEXT NOT NULL,
  PRIMARY KEY (series, time, document)
) WITHOUT ROWID;
CREATE INDEX verdicts_document ON verdicts (document);
CREATE INDEX verdicts_verdict ON verdicts (verdict, time);

-- The texts of a document, by its id.
CREATE VIRTUAL TABLE search USING fts5 (text, content='', contentless_delete=1, prefix='2 3');
