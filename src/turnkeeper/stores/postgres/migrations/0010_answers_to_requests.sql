-- What was answered to a request that is no message, so that the same request gets the same answer.
ALTER TABLE requests ADD COLUMN answer TEXT;
