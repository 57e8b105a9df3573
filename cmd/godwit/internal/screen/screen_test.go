package screen

import (
	"bytes"
	"encoding/json"
	"math"
	"slices"
	"strings"
	"testing"
	"time"
)

// Columns stay in line, also behind empty cells and short rows, and numbers end at the right.
func TestTable(t *testing.T) {
	got := Table{
		Head: []string{"CHANNEL", "WAITING", "OLDEST", "NOTES"},
		Rows: [][]string{
			{"orders", "3", "3m", ""},
			{"wünsche.*"},
			{"orders@dlq", "12000", "", "ordered"},
		},
	}.String()
	want := "CHANNEL     WAITING  OLDEST  NOTES\n" +
		"orders            3  3m\n" +
		"wünsche.*\n" +
		"orders@dlq    12000          ordered\n"
	if got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
}

// On a narrow terminal, a table has fewer columns, and a line for each cell where that is not enough.
func TestNarrow(t *testing.T) {
	table := Table{
		Head: []string{"CHANNEL", "ROLE", "WAITING", "CREATED"}, Spare: []string{"CREATED", "NONE", "ROLE"},
		Rows: [][]string{{"orders", "queue", "3", "2026-11-26"}, {"events.*", "exchange"}},
	}
	for width, want := range map[int]string{
		0:  "CHANNEL   ROLE      WAITING  CREATED\norders    queue           3  2026-11-26\nevents.*  exchange\n",
		30: "CHANNEL   ROLE      WAITING\norders    queue           3\nevents.*  exchange\n",
		20: "CHANNEL   WAITING\norders          3\nevents.*\n",
		10: "channel: orders\nwaiting: 3\n\nchannel: events.*\n",
	} {
		if got := textOf(table.within(width)); got != want {
			t.Errorf("%d columns:\n%swant\n%s", width, got, want)
		}
	}
	if len(table.Head) != 4 || len(table.Rows[0]) != 4 {
		t.Errorf("the table was changed: %v", table)
	}
}

// Nothing that could control a terminal reaches it, in whatever pieces it comes; JSON stays what it was.
func TestScreen(t *testing.T) {
	const text = "a\x1b[31m\u009bred\u202edrow\u2066\x9b\x00é\tß\n漢字\r"
	const want = `a\u001b[31m\u009bred\u202edrow\u2066\x9b\u0000é` + "\tß\n漢字" + `\u000d`
	for size := 1; size <= len(text); size++ {
		var out bytes.Buffer
		s := &Writer{To: &out}
		for piece := range slices.Chunk([]byte(text), size) {
			if n, err := s.Write(piece); n != len(piece) || err != nil {
				t.Fatal(n, err)
			}
		}
		if out.String() != want {
			t.Errorf("in pieces of %d: %q, want %q", size, &out, want)
		}
	}
	in := map[string]string{"error": "a\u009b\u202e\x1b"}
	var out bytes.Buffer
	if err := json.NewEncoder(&Writer{To: &out}).Encode(in); err != nil {
		t.Fatal(err)
	}
	var back map[string]string
	if err := json.Unmarshal(out.Bytes(), &back); err != nil || back["error"] != in["error"] ||
		strings.ContainsAny(out.String(), "\u009b\u202e\x1b") {
		t.Errorf("%v: %q", err, &out)
	}
}

// A small number is not zero, and an unknown one is not drawn as one.
func TestSpark(t *testing.T) {
	for want, values := range map[string][]float64{
		"": nil, "▁▁": {0, 0}, "▁▂█?": {0, 0.001, 100, math.NaN()}, "▅█": {5, 10}, "??": {math.NaN(), math.NaN()},
	} {
		if got := Spark(values); got != want {
			t.Errorf("%v is %q, want %q", values, got, want)
		}
	}
}

func TestAgo(t *testing.T) {
	for d, want := range map[time.Duration]string{
		0: "0s", 900 * time.Millisecond: "0s", 40 * time.Second: "40s", 3*time.Minute + 59*time.Second: "3m",
		2*time.Hour + 10*time.Minute: "2h10m", 5 * time.Hour: "5h", 49 * time.Hour: "2d",
	} {
		if got := Ago(d); got != want {
			t.Errorf("%v is %q, want %q", d, got, want)
		}
	}
}
