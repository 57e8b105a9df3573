package screen

import (
	"bytes"
	"testing"
	"testing/synctest"
	"time"
)

// Off a terminal, work tells a line a second how far it is, also while nothing comes, and nothing if it is short.
func TestProgress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		p := NewProgress(&out)
		time.Sleep(1500 * time.Millisecond) // nothing is known yet
		p.At(300, 0.3, "300 of about 1000 sent")
		time.Sleep(2 * time.Second)
		p.At(1000, 1, "1000 of about 1000 sent")
		time.Sleep(time.Second)
		p.End()
		const want = "300 of about 1000 sent, 150/s, about 5s left\n300 of about 1000 sent, 100/s, about 7s left\n" +
			"1000 of about 1000 sent, 250/s\n"
		if out.String() != want {
			t.Errorf("got\n%swant\n%s", &out, want)
		}
		out.Reset()
		p = NewProgress(&out)
		p.At(7, -1, "7 written")
		time.Sleep(900 * time.Millisecond)
		p.End()
		if out.Len() > 0 {
			t.Errorf("short work says %s", &out)
		}
	})
}

func TestBar(t *testing.T) {
	for share, want := range map[float64]string{
		-1: "", 0: "[--------------------]   0% ", 0.5: "[##########----------]  50% ",
		2: "[####################] 100% ",
	} {
		if got := bar(share); got != want {
			t.Errorf("%v is %q, want %q", share, got, want)
		}
	}
	if got := cut("äöü", 2); got != "äö" {
		t.Error(got)
	}
}
