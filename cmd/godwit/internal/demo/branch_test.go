package demo

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestBranchesWant(t *testing.T) {
	want := map[string][]string{
		"MOBILE.APPLE":     {"audit_log", "mobile", "apple"},
		"MOBILE.SAMSUNG":   {"audit_log", "mobile"},
		"MOBILE.FAIRPHONE": {"audit_log", "mobile"},
		"TABLET.APPLE":     {"audit_log"},
		"MOBILEHOME.HYMER": {"audit_log"},
		"BOOK.PAPERBACK":   {"audit_log"},
	}
	got := map[string][]string{}
	for _, item := range items() {
		for _, b := range newBranches() {
			if b.wants(item) {
				got[item] = append(got[item], b.name)
			}
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("who wants what (-want +got):\n%s", diff)
	}
}
