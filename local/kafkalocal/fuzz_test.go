package kafkalocal

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"math"
	"net"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// mendableKeys are the requests whose answers are corrected.
func mendableKeys() []int16 {
	var keys []int16
	for key := range kmsg.MaxKey + 1 {
		if mendable(int16(key)) {
			keys = append(keys, int16(key))
		}
	}
	return keys
}

// FuzzAnswers: an answer that can be read is corrected to one that can be read, once and for all; another one is not
// changed. Two bytes in a row with the top bit would be a number of tags for which kmsg loops long.
func FuzzAnswers(f *testing.F) {
	for i, key := range mendableKeys() {
		resp := kmsg.ResponseForKey(key)
		f.Add(uint8(i), uint8(resp.MaxVersion()), resp.AppendTo(nil))
	}
	created := kmsg.NewPtrCreateTopicsResponse()
	created.Version = 7
	created.Topics = []kmsg.CreateTopicsResponseTopic{{
		Topic: "t", Configs: []kmsg.CreateTopicsResponseTopicConfig{{Name: "retention.ms"}},
	}}
	f.Add(uint8(slices.Index(mendableKeys(), int16(kmsg.CreateTopics))), uint8(7), created.AppendTo(nil))
	keys := mendableKeys()
	f.Fuzz(func(t *testing.T, which, version uint8, body []byte) {
		for i := range len(body) - 1 {
			if body[i] >= 0x80 && body[i+1] >= 0x80 {
				return
			}
		}
		q := question{key: keys[int(which)%len(keys)]}
		resp := kmsg.ResponseForKey(q.key)
		q.version = int16(version) % (resp.MaxVersion() + 1)
		resp.SetVersion(q.version)
		head := make([]byte, answerHead, answerHead+1+len(body))
		if resp.IsFlexible() {
			head = append(head, 0)
		}
		answer := append(head, body...)
		binary.BigEndian.PutUint32(answer, uint32(len(answer)-counted))
		mend := func(b []byte) []byte {
			a := answers{epochs: &epochs{}, asked: map[int32]question{0: q}}
			return a.mended(b)
		}
		once := mend(bytes.Clone(answer))
		if int(binary.BigEndian.Uint32(once)) != len(once)-counted {
			t.Fatalf("the length of %x is wrong", once)
		}
		if readable := resp.ReadFrom(body) == nil; !readable {
			if diff := cmp.Diff(answer, once); diff != "" {
				t.Errorf("an answer that cannot be read was changed:\n%s", diff)
			}
			return
		}
		if diff := cmp.Diff(once, mend(bytes.Clone(once))); diff != "" {
			t.Errorf("not stable:\n%s", diff)
		}
	})
}

// pieces is a connection whose bytes arrive in pieces.
type pieces struct {
	net.Conn
	data []byte
	size int
}

func (p *pieces) Read(b []byte) (int, error) {
	if len(p.data) == 0 {
		return 0, io.EOF
	}
	n := copy(b, p.data[:min(p.size, len(p.data))])
	p.data = p.data[n:]
	return n, nil
}

func (p *pieces) SetReadDeadline(time.Time) error { return nil }

// FuzzRequests: what comes from a connection does not depend on the pieces in which it arrives; only whole requests
// pass, and an announced length takes no memory.
func FuzzRequests(f *testing.F) {
	whole := []byte{0, 0, 0, 10, 0, 18, 0, 0, 0, 0, 0, 1, 0xff, 0xff}
	f.Add(append(whole, whole...), uint8(3), uint8(1))
	f.Add([]byte{0, 0, 0, 14, 0, 3, 0, 12, 0, 0, 0, 1, 0, 1, 'x', 1, 0, 0}, uint8(1), uint8(200))
	f.Add([]byte("GET / HTTP/1.1\r\n"), uint8(7), uint8(4))
	f.Add([]byte{6, 0x40, 0, 0, 0, 0}, uint8(7), uint8(4))
	f.Fuzz(func(t *testing.T, data []byte, arrive, read uint8) {
		pass := func(arrive, read int) (passed []byte, err error) {
			r := &requests{from: &pieces{data: data, size: arrive}, open: math.MinInt32} // nothing waits for an answer
			for b := make([]byte, read); ; {
				n, err := r.Read(b)
				passed = append(passed, b[:n]...)
				if err != nil {
					if cap(r.data) > 4*len(data)+firstRoom {
						t.Fatalf("%d bytes need room for %d", len(data), cap(r.data))
					}
					return passed, err
				}
			}
		}
		want, wantErr := pass(len(data)+1, 4096)
		got, err := pass(int(arrive)+1, int(read)+1)
		if diff := cmp.Diff(want, got); diff != "" || errors.Is(err, errRequest) != errors.Is(wantErr, errRequest) {
			t.Fatalf("in pieces: %v, %v\n%s", err, wantErr, diff)
		}
		for rest := got; len(rest) > 0; {
			size := int(binary.BigEndian.Uint32(rest)) + counted
			if size > len(rest) {
				t.Fatalf("a part of a request passed: %x", rest)
			}
			if _, err := checkHead(rest[counted:size]); err != nil {
				t.Fatal(err)
			}
			rest = rest[size:]
		}
	})
}
