package keep

// Change sets the record of a key or, without a value, deletes it.
type Change struct {
	Key   string
	Value []byte // nil: the record is deleted. The Store may keep it, so it must not be modified afterwards
}

// Store keeps records. All methods but Load are safe for concurrent use.
type Store interface {
	// Load calls record once for every record, in no order, and returns its first error. It is called once, before the
	// first Write. The value is valid until record returns.
	Load(record func(key string, value []byte) error) error
	// Write makes changes, all or none of them, after those of every earlier Write. It does not wait for the disk, so
	// it may be called with locks held, and it never fails: Sync says whether the changes are kept.
	Write(changes ...Change)
	// Read returns the newest values of records, in order of the keys; nil: there is no such record. It waits for the
	// disk, so it may not be called with locks held. The values may not be modified.
	Read(keys ...string) ([][]byte, error)
	// Sync returns when every change written before is kept, or an error if the disk does not take them now. After an
	// error, the changes may still be kept later.
	Sync() error
	// Damaged reports whether records may be missing because they cannot be read. What then seems to belong to nothing
	// is not deleted.
	Damaged() bool
	// Failure returns why the disk takes no changes now; nil: it does. Calls that change something are refused
	// meanwhile.
	Failure() error
}
