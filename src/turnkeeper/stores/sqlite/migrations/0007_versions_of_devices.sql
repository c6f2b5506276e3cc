-- What a device has kept is counted, so that nobody who lags behind writes over what is newer.
ALTER TABLE device_sessions ADD COLUMN version INTEGER NOT NULL DEFAULT 1;
