package describe

import "testing"

// Each statement of a policy is a sentence.
func TestStatements(t *testing.T) {
	for text, want := range map[string]string{
		`{"Statement":[{"Effect":"Deny","Principal":"*","Action":"a"}]}`:                "denies everybody a",
		`{"Statement":[{"Effect":"Allow","Principal":{"AWS":"*"},"Action":["a","b"]}]}`: "allows everybody a, b",
		`{"Statement":[{"Effect":"Allow","NotPrincipal":{"AWS":"1"},"NotAction":"a"}]}`: "allows everybody but 1 all but a",
		`{"Statement":[{"Effect":"Allow","Action":"a"}]}`:                               "allows nobody a",
		`nonsense`: "allows nobody anything: it cannot be read: nonsense",
		`{}`:       "allows nobody anything: it cannot be read: {}",
	} {
		if all := statementsOf(text); len(all) != 1 || all[0].String() != want {
			t.Errorf("%s: %v, want %s", text, all, want)
		}
	}
}
