package wire

import (
	"strings"
	"testing"
)

func TestTemporaryKeysContainTheirAccount(t *testing.T) {
	for _, account := range []string{"000000000000", "000000000001", "123456789012", "999999999999"} {
		a, b := TemporaryKey(account, 1), TemporaryKey(account, 2)
		if a == b || len(a) != 20 || !strings.HasPrefix(a, "ASIA") {
			t.Errorf("%s and %s", a, b)
		}
		home := Home{Place: Place{Account: "111111111111", Region: "us-east-1"}}
		if at := home.Caller(a, ""); at.Account != account {
			t.Errorf("%s is of %s, not of %s", a, at.Account, account)
		}
	}
}

// A key that AWS has made, with whatever account, stays a key of the options' account.
func TestOtherKeysSayNothing(t *testing.T) {
	key := TemporaryKey("123456789012", 7)
	for _, other := range []string{
		"", "ASIA", "ASIAIOSFODNN7EXAMPLE", "AKIA" + key[4:], key[:19] + "=", key[:10] + "AAAA" + key[14:],
		key + "A", strings.ToLower(key),
	} {
		if account, ok := temporaryAccount(other); ok {
			t.Errorf("%q is of %s", other, account)
		}
	}
}
