package main

import (
	"testing"
	"time"
)

// Columns stay in line, also behind empty cells and short rows, and numbers end at the right.
func TestTable(t *testing.T) {
	got := table{
		head: []string{"CHANNEL", "WAITING", "OLDEST", "NOTES"},
		rows: [][]string{
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

func TestAgo(t *testing.T) {
	for d, want := range map[time.Duration]string{
		0: "0s", 900 * time.Millisecond: "0s", 40 * time.Second: "40s", 3*time.Minute + 59*time.Second: "3m",
		2*time.Hour + 10*time.Minute: "2h10m", 5 * time.Hour: "5h", 49 * time.Hour: "2d",
	} {
		if got := ago(d); got != want {
			t.Errorf("%v is %q, want %q", d, got, want)
		}
	}
}
