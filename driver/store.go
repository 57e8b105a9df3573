package driver

import (
	"context"
	"io"
	"iter"
	"time"
)

// Store keeps bodies apart from their messages, for backends whose service accepts small messages only. An object
// belongs to one message; the backend decides when it is deleted. Safe for concurrent use.
//
// The class of an error says what the caller can do: [NotFound] means that there is no such object, and [Denied] that a
// permission is missing, or that the store may not tell whether there is one.
type Store interface {
	// Ensure creates what the store needs, or compares it, as the mode says. A store that was ensured before makes no
	// call.
	Ensure(ctx context.Context, mode Mode) error
	// Put writes size bytes of a body as a new object below a folder, and returns where it is. A body that is shorter
	// or longer is an error. A negative size is unknown, and the body ends with its reader. If Put fails or ctx ends,
	// nothing is left that could be read.
	Put(ctx context.Context, folder string, body io.Reader, size int64) (Location, error)
	// Open begins to read an object, and returns its size. A location outside of those that the store was configured to
	// read is a [*PayloadError] with [PayloadForeign], and is not called.
	Open(ctx context.Context, at Location) (body io.ReadCloser, size int64, err error)
	// Delete deletes objects, except for those of other programs that the store was not told to delete. An object that
	// is gone already is no error.
	Delete(ctx context.Context, at []Location) error
	// Lifetime is how long the store keeps an object that nothing deletes; 0: without a limit.
	Lifetime() time.Duration
}

// Copier is a Store that copies objects itself. A message that is sent on with its pointer needs a copy if its object
// may be deleted soon, because nothing deletes it earlier than its lifetime, and nothing keeps it longer.
type Copier interface {
	// Copy copies an object to a new one below a folder, and returns where that is. The bytes do not pass this process,
	// and the old object stays. A location that may not be read is an error, as of Open. If Copy fails or ctx ends,
	// nothing is left that could be read.
	Copy(ctx context.Context, at Location, folder string) (Location, error)
	// Written returns when an object was written. It may answer without a call, so it does not show that the object is
	// still there.
	Written(ctx context.Context, at Location) (time.Time, error)
}

// Lister is a Store that lists its objects.
type Lister interface {
	// List returns the objects below a folder, in no order. Objects of other programs, and those whose keys have
	// another form than the keys of Put, are left out. An error ends the list.
	List(ctx context.Context, folder string) iter.Seq2[Object, error]
}

// Object is an object of a Store.
type Object struct {
	Location
	Size    int64
	Written time.Time
}

// Location says where an object of a Store is.
type Location struct{ Bucket, Key string }

// Opener reads the body of a delivery that is in a [Store]. The core calls it for a delivery in hand, so that the lease
// is kept meanwhile; several times, if an attempt fails.
type Opener interface {
	// Open begins to read the body. size is the number of its bytes; negative: unknown until they are read. Errors,
	// also those of reading, have classes: a [*PayloadError] means that no repetition can help, so the core rejects the
	// delivery; after a passing error the core repeats it later, without an attempt; any other error is one for the
	// policy. Close ends the reading at any time.
	Open(ctx context.Context) (body io.ReadCloser, size int64, err error)
}

// PayloadError is the reason why a message that points to a body in a [Store] cannot be handled. Its text has nothing
// of the pointer, which anyone who can send may have written.
type PayloadError struct {
	Fault PayloadFault
	Err   error
}

func (e *PayloadError) Error() string { return e.Err.Error() }
func (e *PayloadError) Unwrap() error { return e.Err }

// PayloadFault is the kind of a PayloadError.
type PayloadFault uint8

const (
	PayloadPointer PayloadFault = iota // a pointer was announced, and the body cannot be read as one
	PayloadForeign                     // it points outside of the locations that the store reads
	PayloadMissing                     // there is no object
	PayloadShort                       // the object has fewer bytes than announced
	PayloadLong                        // the object has more bytes than announced
	PayloadAltered                     // the object has another hash than announced, or cannot be decompressed
	PayloadRatio                       // the body is too many times larger than its compressed object
)

// String is the name of the fault, as the kind of a [Death].
func (f PayloadFault) String() string {
	names := [...]string{
		"payload-pointer", "payload-foreign", "payload-missing", "payload-short", "payload-long", "payload-altered",
		"payload-ratio",
	}
	if int(f) < len(names) {
		return names[f]
	}
	return "payload-unknown"
}
