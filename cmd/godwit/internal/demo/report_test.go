package demo

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var sample = Report{
	Sent: 1200, Handled: 1176, Retried: 191, Dead: 23, Lost: 1, Left: 2, Twice: 3,
	Requests: 612, RequestsPerMessage: 0.51, Seconds: 3.25, Seed: 42,
	Channels: []Channel{{Name: "orders", Sent: 1200, Handled: 1176, Retried: 191, Dead: 23, Lost: 1, Requests: 612}},
}

func TestWriteTable(t *testing.T) {
	var b strings.Builder
	if err := sample.WriteTable(&b); err != nil {
		t.Fatal(err)
	}
	want := "" +
		"  channel  sent  handled  retried  dead-lettered  lost  requests/message\n" +
		"   orders  1200     1176      191             23     1              0.51\n" +
		"\n" +
		"3.25s, seed 42; 2 still waiting when it was stopped; 3 handled more than once (delivery is at least once); 1 LOST\n"
	if diff := cmp.Diff(want, b.String()); diff != "" {
		t.Errorf("table (-want +got):\n%s", diff)
	}
}

// The last line's fields are read by scripts: they and their order stay.
func TestWriteJSON(t *testing.T) {
	var b strings.Builder
	if err := sample.WriteJSON(&b); err != nil {
		t.Fatal(err)
	}
	want := `{"sent":1200,"handled":1176,"retried":191,"dead":23,"lost":1,"left":2,"twice":3,` +
		`"requests":612,"requests_per_message":0.51,"seconds":3.25,"seed":42,` +
		`"channels":[{"name":"orders","sent":1200,"handled":1176,"retried":191,"dead":23,"lost":1,"requests":612}]}` + "\n"
	if diff := cmp.Diff(want, b.String()); diff != "" {
		t.Errorf("line (-want +got):\n%s", diff)
	}
}

func TestPerMessageOfNothing(t *testing.T) {
	if got := perMessage(5, 0); got != 0 {
		t.Errorf("nothing sent: %v requests a message, want 0", got)
	}
}
