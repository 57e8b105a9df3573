package snssqs_test

import (
	"bytes"
	"crypto/sha256"
	"math/rand/v2"
	"runtime"
	"testing"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/localaws"
)

// A large message is in memory once while it is held, as text or encoded, and its dead letter is complete.
func TestAHeldMessageIsInMemoryOnce(t *testing.T) {
	const n, size = 10, 700 << 10
	random := rand.NewChaCha8([32]byte{testSeed})
	binary := make([]byte, size)
	if _, err := random.Read(binary); err != nil {
		t.Fatal(err)
	}
	for name, body := range map[string][]byte{"text": bytes.Repeat([]byte("k"), size), "binary": binary} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, localaws.Options{}, func(w *world) {
				w.ensure(owner(orders))
				s := w.sender(orders)
				for range n {
					w.send(s, driver.Message{Body: body})
				}
				r := w.receiver(orders, driver.Filter{})
				before := heap()
				ds := w.receive(r, n)
				if grown := heap() - before; grown > n*size*5/4 {
					t.Errorf("%d messages of %d KiB take %d KiB", n, size>>10, grown>>10)
				}
				w.reject(r, "no", ds[0])
				letter := w.receive(w.receiver(dead(orders), driver.Filter{}), 1)[0]
				if sha256.Sum256(letter.Body) != sha256.Sum256(body) || letter.Err != nil {
					t.Errorf("the dead letter has %d bytes, or others; %v", len(letter.Body), letter.Err)
				}
				runtime.KeepAlive(ds)
			})
		})
	}
}

// heap returns the bytes in use.
func heap() int64 {
	var m runtime.MemStats
	for range 2 { // the second run collects what pools released in the first
		runtime.GC()
	}
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}
