package main

import "testing"

// A page that is wrong by a tenth is as good as new; a module more, or one that has doubled, is not.
func TestCompare(t *testing.T) {
	const page = "It has 45.0 MB, and 33.9 MB without.\n| a | 3.0 |\n| b | 0.3 |\n"
	for now, same := range map[string]bool{
		page: true,
		"It has 44.0 MB, and 34.9 MB without.\n| a | 3.2 |\n| b | 0.2 |\n":            true,
		"It has 51.0 MB, and 33.9 MB without.\n| a | 3.0 |\n| b | 0.3 |\n":            false,
		"It has 45.0 MB, and 33.9 MB without.\n| a | 6.0 |\n| b | 0.3 |\n":            false,
		"It has 45.0 MB, and 33.9 MB without.\n| a | 3.0 |\n| b | 0.3 |\n| c | 1.0 |": false,
	} {
		if err := compare(page, now); (err == nil) != same {
			t.Errorf("%q: %v", now, err)
		}
	}
}

func TestModuleOf(t *testing.T) {
	of := map[string]string{
		"main": "ours", "example.com/a": "a", "example.com/a/b": "a", "example.com/a/b/v2": "b",
		"go.yaml.in/yaml/v3": "y",
	}
	for symbol, want := range map[string]string{
		"main.main": "ours", "example.com/a.(*T).M": "a", "example.com/a/b/v2.F[example.com/a.T]": "b",
		"go%2eyaml%2ein/yaml/v3.F": "y", "go.yaml.in/yaml/v3.F": "y", "gogo": "the standard library",
		"type:.eq.example.com/a.T": "a",
	} {
		if got := moduleOf(of, symbol); got != want {
			t.Errorf("%s is of %s, want %s", symbol, got, want)
		}
	}
}
