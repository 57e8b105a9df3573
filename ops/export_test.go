package ops_test

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/ops"
)

// What is exported and imported again is the same messages: also binary bodies, reasons of deaths and odd headers. It
// does not matter whether the service lets look at messages or has to receive them.
func TestExportAndImport(t *testing.T) {
	for _, receive := range []bool{false, true} {
		in(t, func(m *morgue) {
			b, ch := m.Backend, queued
			if receive {
				b, ch = service{b}, orders
			}
			name := ch.String() + "@dlq"
			for i := range 2500 {
				one := letter(fmt.Sprint("key ", i%7), fmt.Sprintf("\xff %04d", i))
				one.Header = []driver.Header{{Name: "empty"}, {Name: "ß\n", Value: "\"\t"}}
				one.RoutingKey, one.Type, one.Version = "A.B", "wish", 3
				m.put(ch, one)
			}
			m.reject(ch, refused)
			var file bytes.Buffer
			n, err := ops.Export(m.Context(), b, name, &file, &ops.ExportOptions{Receive: receive})
			if err != nil || n != 2500 || strings.Count(file.String(), "\n") != n {
				t.Fatalf("%d, %v", n, err)
			}
			text := file.Bytes()
			was := m.take(dead(ch))
			r, err := ops.Import(m.Context(), m.Backend, name, &file, nil)
			if err != nil || r.Sent != 2500 || r.Next != 2501 {
				t.Fatalf("%+v, %v", r, err)
			}
			var again bytes.Buffer
			_, err = ops.Export(m.Context(), b, name, &again, &ops.ExportOptions{Receive: receive})
			if err != nil {
				t.Fatal(err)
			}
			if raws(t, text) != raws(t, again.Bytes()) {
				t.Error("the second export differs from the first")
			}
			is := m.take(dead(ch))
			ignored := cmpopts.IgnoreFields(driver.Delivery{}, "ID", "SentAt", "LeaseEnds", "Source", "Handle",
				"Received")
			if diff := cmp.Diff(was, is, ignored); diff != "" {
				t.Errorf("(-exported +imported):\n%.2000s", diff)
			}
		})
	}
}

// raws are the raw messages of a file, without what explains them.
func raws(t *testing.T, file []byte) string {
	t.Helper()
	var all strings.Builder
	for line := range bytes.Lines(file) {
		r, err := ops.ParseRecord(line)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&all, "%#v\n", r.Message())
	}
	return all.String()
}

// Of an ordered queue that can only be received from, the messages behind a held one are not seen. The export says so.
func TestExportOfAnOrderedQueue(t *testing.T) {
	in(t, func(m *morgue) {
		for i := range 30 {
			m.put(queued, letter("ada", fmt.Sprint(i)))
		}
		n, err := ops.Export(m.Context(), service{m.Backend}, "queued", io.Discard, &ops.ExportOptions{Receive: true})
		if n != 10 || err == nil || !strings.Contains(err.Error(), "about 20 messages were not seen") {
			t.Errorf("%d, %v", n, err)
		}
		if got := len(m.take(queued)); got != 30 {
			t.Errorf("%d messages are left", got)
		}
	})
}

// Dead letters that are imported into their channel can be revived.
func TestImportRevives(t *testing.T) {
	in(t, func(m *morgue) {
		m.put(orders, letter("", "a"))
		m.reject(orders, refused)
		var file bytes.Buffer
		if _, err := ops.Export(m.Context(), m.Backend, "orders@dlq", &file, nil); err != nil {
			t.Fatal(err)
		}
		if _, err := ops.Import(m.Context(), m.Backend, "orders", &file, &ops.ImportOptions{Revive: true}); err != nil {
			t.Fatal(err)
		}
		if d := m.take(orders); len(d) != 1 || d[0].Origin != nil || string(d[0].Body) != "a" {
			t.Errorf("%+v", d)
		}
	})
}

// A bad line is an error with its number; what stands before it is sent, and the result tells where to go on.
func TestImportOfABadFile(t *testing.T) {
	in(t, func(m *morgue) {
		for i := range 25 {
			m.put(orders, letter("", fmt.Sprint(i)))
		}
		var file bytes.Buffer
		if _, err := ops.Export(m.Context(), m.Backend, "orders", &file, nil); err != nil {
			t.Fatal(err)
		}
		m.take(orders)
		lines := strings.SplitAfter(file.String(), "\n")
		whole := strings.Join(lines, "")
		lines[13] = "{}\n"
		broken := strings.Join(lines, "")
		imports := func(text string, o *ops.ImportOptions) (ops.ImportResult, error) {
			return ops.Import(m.Context(), m.Backend, "orders", strings.NewReader(text), o)
		}
		dry, err := imports(broken, &ops.ImportOptions{Dry: true})
		if err == nil || !strings.Contains(err.Error(), "line 14") || dry.Sent != 13 ||
			!strings.HasSuffix(err.Error(), "; nothing was sent") {
			t.Errorf("%+v, %v", dry, err)
		}
		r, err := imports(broken, nil)
		if err == nil || !strings.Contains(err.Error(), "line 14") || r.Sent != 13 || r.Next != 14 {
			t.Errorf("%+v, %v", r, err)
		}
		r, err = imports(whole, &ops.ImportOptions{From: r.Next})
		if err != nil || r.Sent != 12 {
			t.Errorf("%+v, %v", r, err)
		}
		if got := m.take(orders); len(got) != 25 {
			t.Errorf("%d messages", len(got))
		}
	})
}
