package main

import (
	"bytes"
	"strings"
	"testing"
	"time"
)

// Wrong input is told by the flag's name, and what to write instead, before anything is started.
func TestWrongInput(t *testing.T) {
	onServer(t)
	for _, c := range []struct {
		args string
		says string
	}{
		{"demand --workers 0", "--workers is 0: it must be positive"},
		{"demand --most -1", "--most is -1"},
		{"demand --service-time -1s", "--service-time is -1s"},
		{"demand [", "'[' needs a ']'"},
		{"ls [", "'[' needs a ']'"},
		{"ls a b", "one pattern at most"},
		{"requeue orders@dlq --kind nosuch", "the kinds are exhausted, permanent"},
		{"requeue orders@dlq --rate -3", "--rate is -3: it cannot be negative"},
		{"requeue orders@dlq --hold 0", "--hold is 0"},
		{"requeue orders@dlq --most -1", "--most is -1"},
		{"requeue orders@dlq --older 2x", "use a duration such as 90s, 2h or 3d"},
		{"requeue orders@dlq --older 3d --newer 1h", "no message is both"},
		{"requeue orders@dlq --attempts -1", "--attempts is -1"},
		{"export orders --most -1", "--most is -1"},
		{"peek orders --since 2099-01-01T00:00:00Z", "it has not come yet"},
		{"peek orders --since yesterday", "2h or 3d"},
		{"health --url nonsense", "http://127.0.0.1:8080/livez"},
	} {
		var out, errOut bytes.Buffer
		status := run(t.Context(), strings.Fields(c.args), &out, &errOut)
		if status != exitUsage || !strings.Contains(errOut.String(), c.says) {
			t.Errorf("godwit %s: status %d, %s; want %q", c.args, status, &errOut, c.says)
		}
	}
	for _, args := range []string{"ls nosuch", "demand nosuch"} {
		var out, errOut bytes.Buffer
		if status := run(t.Context(), strings.Fields(args), &out, &errOut); status != exitFailed ||
			!strings.Contains(errOut.String(), "there are no channels") {
			t.Errorf("godwit %s: status %d, %s", args, status, &errOut)
		}
	}
}

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
