package wire_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/hex"
	"math"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/fxamacker/cbor/v2"
	"github.com/google/go-cmp/cmp"

	"github.com/godwitmq/godwit/localaws/random"
	"github.com/godwitmq/godwit/localaws/wire"
)

// point has the types that only some protocols write in their own way.
type point struct {
	Name  *string            `json:"Name"`
	At    *time.Time         `json:"At"`
	X     float64            `json:"X"`
	Data  []byte             `json:"Data"`
	List  []float64          `json:"List"`
	Times []time.Time        `json:"Times"`
	Map   map[string]float64 `json:"Map"`
	Flag  *bool              `json:"Flag"`
	Count *int32             `json:"Count"`
	Inner []point            `json:"Inner"`
}

// meterMux is a service with every protocol.
func meterMux() *wire.Mux {
	return wire.NewMux(wire.Options{Account: "000000000000", Region: "us-east-1", Random: random.New(1)}, &wire.Service{
		Name: "meter", Scope: "monitoring", Target: "Meter", CBOR: true, Namespace: "com.amazonaws.meter", Version: "1",
		Actions: []wire.Action{
			wire.Op("Echo", func(_ context.Context, _ *wire.Call, in *point) (*point, error) { return in, nil }),
			wire.Op("Nothing", func(context.Context, *wire.Call, *nothing) (*nothing, error) {
				return &nothing{}, nil
			}),
			wire.Op("Refuse", func(context.Context, *wire.Call, *nothing) (*nothing, error) {
				return nil, &wire.Error{Code: "NoSuchThing", Query: "OldName", Message: "no", Status: 404}
			}),
		},
	})
}

func postCBOR(operation string, body []byte) *httptest.ResponseRecorder {
	r := httptest.NewRequest("POST", "/service/Meter/operation/"+operation, bytes.NewReader(body))
	r.Header.Set("Smithy-Protocol", "rpc-v2-cbor")
	w := httptest.NewRecorder()
	meterMux().ServeHTTP(w, r)
	return w
}

func document(t *testing.T, v any) []byte {
	t.Helper()
	b, err := cbor.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestCBORThereAndBack(t *testing.T) {
	at := cbor.Tag{Number: 1, Content: 1_700_000_000.5}
	body := document(t, map[string]any{
		"Name": "é", "At": at, "X": 3, "Data": []byte{0, 1}, "List": []any{1, 2.5, -3}, "Times": []any{at},
		"Map": map[string]any{"a": 1.5, "b": nil}, "Flag": true, "Count": 7.0,
		"Inner": []any{map[string]any{"X": math.Inf(1)}, nil},
	})
	w := postCBOR("Echo", body)
	if w.Code != 200 || w.Header().Get("Smithy-Protocol") != "rpc-v2-cbor" ||
		w.Header().Get("Content-Type") != "application/cbor" {
		t.Fatalf("%d %v %s", w.Code, w.Header(), w.Body)
	}
	var got map[string]any
	if err := cbor.Unmarshal(w.Body.Bytes(), &got); err != nil {
		t.Fatal(err)
	}
	moment := time.UnixMilli(1_700_000_000_500)
	if !got["At"].(time.Time).Equal(moment) || !got["Times"].([]any)[0].(time.Time).Equal(moment) {
		t.Errorf("times: %v, %v", got["At"], got["Times"])
	}
	for name, want := range map[string]any{
		"Name": "é", "X": 3.0, "Data": []byte{0, 1}, "List": []any{1.0, 2.5, -3.0}, "Flag": true, "Count": uint64(7),
		"Map": map[any]any{"a": 1.5},
	} {
		if diff := cmp.Diff(want, got[name]); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	if n := len(got["Inner"].([]any)); n != 2 {
		t.Errorf("%d elements of Inner, want 2", n)
	}
}

func TestCBORRefuses(t *testing.T) {
	deep := map[string]any{}
	for range 40 {
		deep = map[string]any{"Inner": []any{deep}}
	}
	for name, body := range map[string][]byte{
		"an unknown member":   document(t, map[string]any{"Nmae": "x"}),
		"a text for a number": document(t, map[string]any{"X": "1"}),
		"a list for a map":    document(t, map[string]any{"Map": []any{}}),
		"a fraction":          document(t, map[string]any{"Count": 1.5}),
		"a number beyond":     document(t, map[string]any{"Count": 1 << 40}),
		"a time without tag":  document(t, map[string]any{"At": 1}),
		"depth":               document(t, deep),
		"a list at the top":   document(t, []any{}),
		"a short body":        document(t, map[string]any{"Name": "abc"})[:5],
		"more than one":       append(document(t, map[string]any{}), 0xa0),
		"a repeated key":      {0xa2, 0x61, 'X', 0x01, 0x61, 'X', 0x02},
		"invalid text":        {0xa1, 0x64, 'N', 'a', 'm', 'e', 0x61, 0xff},
	} {
		if w := postCBOR("Echo", body); w.Code != 400 {
			t.Errorf("%s is answered by %d: %x", name, w.Code, w.Body)
		}
	}
}

func TestCBORErrors(t *testing.T) {
	w := postCBOR("Refuse", nil)
	var got map[string]string
	if err := cbor.Unmarshal(w.Body.Bytes(), &got); err != nil {
		t.Fatal(err)
	}
	want := map[string]string{"__type": "com.amazonaws.meter#NoSuchThing", "message": "no"}
	if diff := cmp.Diff(want, got); diff != "" || w.Code != 404 ||
		w.Header().Get("X-Amzn-Query-Error") != "OldName;Sender" {
		t.Errorf("%d %v (-want +got):\n%s", w.Code, w.Header(), diff)
	}
	if w := postCBOR("Missing", nil); w.Code != 400 || !strings.Contains(w.Body.String(), "UnknownOperationException") {
		t.Errorf("an unknown operation: %d %s", w.Code, w.Body)
	}
	if w := postCBOR("Nothing", nil); w.Code != 200 || w.Body.Len() != 0 || w.Header().Get("Content-Type") != "" {
		t.Errorf("an operation without an output: %d %v %x", w.Code, w.Header(), w.Body)
	}
}

// TestCompressedBodies: gzip in each protocol, and what is not gzip.
func TestCompressedBodies(t *testing.T) {
	pack := func(text string) []byte {
		var b bytes.Buffer
		z := gzip.NewWriter(&b)
		if _, err := z.Write([]byte(text)); err != nil {
			t.Fatal(err)
		}
		if err := z.Close(); err != nil {
			t.Fatal(err)
		}
		return b.Bytes()
	}
	for _, c := range []struct {
		name, encoding, target string
		body                   []byte
		status                 int
	}{
		{"awsJson", "gzip", "Meter.Echo", pack(`{"X":1.5}`), 200},
		{"query", "GZIP", "", pack("Action=Echo&Version=1&X=1.5&At=2026-01-02T03:04:05Z"), 200},
		{"broken", "gzip", "Meter.Echo", []byte("{}"), 400},
		{"short", "gzip", "Meter.Echo", pack(`{"X":1.5}`)[:20], 400},
		{"too long", "gzip", "Meter.Echo", pack(strings.Repeat(" ", 17<<20)), 413},
		{"unknown", "br", "Meter.Echo", nil, 400},
	} {
		r := httptest.NewRequest("POST", "/", bytes.NewReader(c.body))
		r.Header.Set("Content-Encoding", c.encoding)
		if c.target != "" {
			r.Header.Set("X-Amz-Target", c.target)
		}
		w := httptest.NewRecorder()
		meterMux().ServeHTTP(w, r)
		if w.Code != c.status || c.status == 200 && !strings.Contains(w.Body.String(), "1.5") {
			t.Errorf("%s: %d %s, want %d", c.name, w.Code, w.Body, c.status)
		}
	}
}

// FuzzCBOR: every body gets an answer, and an accepted one is the same after it was encoded and decoded again.
func FuzzCBOR(f *testing.F) {
	for _, text := range []string{
		"", "a0", "a1614101", "a164 4e616d65 6161", "a1624174c1fb41d954fc40000000", "bf6158f97c00ff",
		"a1644c697374830102f5", "a1634d6170a161610a", "a165496e6e657281a1615801",
	} {
		body, err := hex.DecodeString(strings.ReplaceAll(text, " ", ""))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(body)
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		w := postCBOR("Echo", body)
		if w.Code != 200 {
			if w.Code != 400 {
				t.Errorf("status %d: %x", w.Code, w.Body)
			}
			return
		}
		first := w.Body.String()
		if again := postCBOR("Echo", []byte(first)); again.Body.String() != first {
			t.Errorf("not stable:\n%x\n%x", first, again.Body)
		}
	})
}
