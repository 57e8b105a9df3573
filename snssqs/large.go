package snssqs

import (
	"errors"
	"fmt"
	"time"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/internal/claim"
	"github.com/godwitmq/godwit/snssqs/internal/wire"
)

const (
	// defaultAbove is the threshold of Amazon's extended clients: a message of 262,144 bytes is sent as it is.
	defaultAbove = 256 << 10
)

// PointerFormat is how a message points to its body in a store. It matters only for the programs that read it with
// Amazon's extended clients; docs/large-messages.md says which of them reads what. Godwit reads all formats.
type PointerFormat uint8

const (
	PointerDefault PointerFormat = iota // as Options.Large says; there, PointerCurrent
	PointerCurrent                      // the current class, and the attribute ExtendedPayloadSize
	PointerMixed                        // the current class, and the attribute SQSLargePayloadSize
	PointerLegacy                       // the class of the first clients, and the attribute SQSLargePayloadSize
)

// Compression is how bodies are compressed in a store.
type Compression uint8

const (
	CompressionDefault Compression = iota // as Options.Large says; there, CompressionNone
	CompressionNone                       // bodies are stored as they are
	CompressionZstd                       // bodies are compressed with zstd
)

// Large says which messages go to Options.Store, and how they point to it.
type Large struct {
	// Above is the size above which the body of a message goes to the store, with the attributes; 0: 262,144 bytes.
	// Raise it, up to the limit of the queue or topic, when a request to S3 costs more than a large message. Lower it
	// when receives of ten large messages take too long; a negative value sends every body to the store.
	Above int
	// Pointers is the format of the pointers. Set it to what the extended clients of the channel's consumers read.
	Pointers PointerFormat
	// Compression says how bodies are compressed in the store; only Godwit reads compressed ones. Set it to
	// CompressionZstd for texts that compress well, if all consumers of the channel use Godwit.
	Compression Compression
}

// apart says which bodies go to a store.
type apart struct {
	store driver.Store // nil: there is none
	all   Large
	of    map[string]Large
}

// newApart checks the options about large messages.
func newApart(o *Options) (apart, error) {
	a := apart{store: o.Store, all: o.Large, of: o.LargeOf}
	if o.Store == nil {
		if o.Large != (Large{}) || len(o.LargeOf) > 0 {
			return a, errors.New("snssqs: Options.Large and LargeOf have no effect without Store: open one with s3store.Open")
		}
		return a, nil
	}
	if keeps := o.Store.Lifetime(); keeps > 0 && keeps < wire.LongestStay {
		return a, fmt.Errorf("snssqs: Options.Store deletes objects after %d days, and a message can stay for %d days in its "+
			"queue and the dead letters together: raise s3store.Options.Lifetime", keeps/(24*time.Hour),
			wire.LongestStay/(24*time.Hour))
	}
	errs := []error{o.Large.check("Options.Large")}
	for channel, l := range o.LargeOf {
		errs = append(errs, l.or(o.Large).check(fmt.Sprintf("Options.LargeOf[%q]", channel)))
		if err := checkMapping(channel, Resource{}); err != nil {
			errs = append(errs, fmt.Errorf("snssqs: Options.LargeOf[%q]: %w", channel, err))
		}
	}
	return a, errors.Join(errs...)
}

func (l Large) check(field string) error {
	if l.Pointers > PointerLegacy {
		return fmt.Errorf("snssqs: %s.Pointers is %d: use one of the constants", field, l.Pointers)
	}
	if l.Compression > CompressionZstd {
		return fmt.Errorf("snssqs: %s.Compression is %d: use one of the constants", field, l.Compression)
	}
	if l.Compression == CompressionZstd && l.Pointers > PointerCurrent {
		return fmt.Errorf("snssqs: %s has CompressionZstd, and Pointers for programs with Amazon's extended clients, which "+
			"cannot read compressed bodies: choose one of both", field)
	}
	return nil
}

// or returns l, with the values of all for its zero fields.
func (l Large) or(all Large) Large {
	if l.Above == 0 {
		l.Above = all.Above
	}
	if l.Pointers == PointerDefault {
		l.Pointers = all.Pointers
	}
	if l.Compression == CompressionDefault {
		l.Compression = all.Compression
	}
	return l
}

// uploads is for a sender to a channel whose service accepts messages of limit bytes, and whose bodies are in a folder;
// nil: there is no store.
func (a *apart) uploads(to driver.Channel, folder string, limit int) *wire.Uploads {
	if a.store == nil {
		return nil
	}
	of := to
	of.DeadLetter = false
	l := a.of[of.String()].or(a.all).or(Large{Above: defaultAbove, Pointers: PointerCurrent})
	return &wire.Uploads{
		Store: a.store, Folder: folder, Above: min(max(l.Above, 0), limit),
		Format: claim.Format(l.Pointers - PointerCurrent), Zip: l.Compression == CompressionZstd,
	}
}
