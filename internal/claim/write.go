package claim

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"io"

	"github.com/godwitmq/godwit/driver"
)

// Write writes the body of a message to a store, compressed if zip says so, and returns the pointer to it. also gets
// the bytes of the body; nil: nothing else needs them.
func Write(
	ctx context.Context, store driver.Store, folder string, m *driver.Message, zip bool, also io.Writer,
) (Pointer, error) {
	sum := sha256.New()
	to := io.Writer(sum)
	if also != nil {
		to = io.MultiWriter(sum, also)
	}
	p := Pointer{Size: m.Size}
	from := m.Reader
	if from == nil {
		_, _ = to.Write(m.Body) // a hash cannot fail
		p.Size, from = int64(len(m.Body)), hashed{bytes.NewReader(m.Body), hex.EncodeToString(sum.Sum(nil))}
	} else {
		from = io.TeeReader(from, to)
	}
	size := p.Size
	var packed *packer
	if zip {
		var err error
		if packed, err = newPacker(&sized{from: from, size: p.Size}); err != nil {
			return Pointer{}, err
		}
		from, size = packed, -1
	}
	var err error
	if p.At, err = store.Put(ctx, folder, from, size); err != nil {
		return Pointer{}, err
	}
	if zip {
		p.Zstd, p.Stored = true, packed.done
	}
	p.SHA256 = hex.EncodeToString(sum.Sum(nil))
	return p, nil
}

// hashed is a body in memory with its SHA-256, so that a store which needs the hash does not compute it again. Package
// s3store looks for these methods.
type hashed struct {
	*bytes.Reader
	sum string
}

// InMemory returns the body.
func (h hashed) InMemory() *bytes.Reader { return h.Reader }

// SHA256 returns the hash of the body, in hexadecimal digits.
func (h hashed) SHA256() string { return h.sum }
