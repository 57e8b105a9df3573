package claim_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"testing"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/internal/claim"
)

// known is a store that keeps the hash of the body that it was given.
type known struct {
	driver.Store
	sum string
}

func (k *known) Put(_ context.Context, _ string, body io.Reader, _ int64) (driver.Location, error) {
	if b, ok := body.(interface {
		InMemory() *bytes.Reader
		SHA256() string
	}); ok && b.InMemory().Len() > 0 {
		k.sum = b.SHA256()
	}
	return driver.Location{}, nil
}

// A store gets the hash of a body in memory together with the body, unless the object is another one than the body.
func TestWriteSaysTheHash(t *testing.T) {
	sum := sha256.Sum256([]byte("body"))
	want := hex.EncodeToString(sum[:])
	for _, zip := range []bool{false, true} {
		s := &known{}
		if _, err := claim.Write(t.Context(), s, "", &driver.Message{Body: []byte("body")}, zip, nil); err != nil {
			t.Fatal(err)
		}
		if (s.sum == want) == zip {
			t.Errorf("compressed %t: the store has the hash %q", zip, s.sum)
		}
	}
}
