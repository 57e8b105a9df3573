package demo

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var sample = Report{
	Sent: 1200, Handled: 1174, Retried: 291, Dead: 23, Lost: 1, Left: 2, Twice: 3, OutOfOrder: 4,
	Requests: 1080, RequestsPerMessage: 0.9, Seconds: 3.25, Seed: 42,
	Channels: []Channel{
		{
			Name: "wishlist_events.*", Sent: 1200, Handled: 1174, Retried: 291, Dead: 23, Lost: 1, Requests: 120,
			RequestsPerMessage: 0.1,
		},
		{
			Name: "wishlist_events.mobile", Sent: 600, Handled: 585, Retried: 98, Dead: 12, Lost: 1, Requests: 240,
			RequestsPerMessage: 0.4,
		},
	},
}

func TestWriteTable(t *testing.T) {
	var b strings.Builder
	if err := sample.WriteTable(&b); err != nil {
		t.Fatal(err)
	}
	want := "" +
		"                 channel  sent  handled  retried  dead-lettered  lost  requests/message\n" +
		"       wishlist_events.*  1200     1174      291             23     1              0.10\n" +
		"  wishlist_events.mobile   600      585       98             12     1              0.40\n" +
		"\n" +
		"1200 wishes in 3.25s, 0.90 requests a wish in all, seed 42; 2 still waiting when the run was stopped; " +
		"3 handled more than once (delivery is at least once); 4 handled OUT OF ORDER; 1 LOST\n"
	if diff := cmp.Diff(want, b.String()); diff != "" {
		t.Errorf("table (-want +got):\n%s", diff)
	}
}

// Scripts read the last line's fields: they and their order stay the same.
func TestWriteJSON(t *testing.T) {
	var b strings.Builder
	if err := sample.WriteJSON(&b); err != nil {
		t.Fatal(err)
	}
	want := `{"sent":1200,"handled":1174,"retried":291,"dead":23,"lost":1,"left":2,"twice":3,"out_of_order":4,` +
		`"requests":1080,"requests_per_message":0.9,"seconds":3.25,"seed":42,"channels":[` +
		`{"name":"wishlist_events.*","sent":1200,"handled":1174,"retried":291,"dead":23,"lost":1,"requests":120,"requests_per_message":0.1},` +
		`{"name":"wishlist_events.mobile","sent":600,"handled":585,"retried":98,"dead":12,"lost":1,"requests":240,"requests_per_message":0.4}]}` + "\n"
	if diff := cmp.Diff(want, b.String()); diff != "" {
		t.Errorf("line (-want +got):\n%s", diff)
	}
}

func TestPerMessageOfNothing(t *testing.T) {
	if got := perMessage(5, 0); got != 0 {
		t.Errorf("nothing sent: %v requests a message, want 0", got)
	}
}
