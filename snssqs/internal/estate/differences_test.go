package estate

import (
	"strings"
	"testing"

	"github.com/godwitmq/godwit/driver"
)

// A change that loses messages, or that lets in more than before, has a risk. The change back has none.
func TestRisks(t *testing.T) {
	const (
		tls   = `{"Sid":"godwitTLS","Effect":"Deny"}`
		topic = `{"Sid":"godwitTopic","Effect":"Allow","Condition":{"ArnEquals":{"aws:SourceArn":"t"}}}`
		other = `{"Sid":"godwitTopic","Effect":"Allow","Condition":{"ArnEquals":{"aws:SourceArn":"u"}}}`
	)
	for _, c := range []struct{ name, is, wanted, risk string }{
		{"MessageRetentionPeriod", "1209600", "3600", "older than 3600 seconds are deleted"},
		{"MaximumMessageSize", "262144", "2048", "more than 2048 bytes are refused"},
		{"RedrivePolicy", `{"maxReceiveCount":30}`, `{"maxReceiveCount":20}`, "without a reason"},
		{"Policy", `{"Statement":[` + tls + `]}`, `{"Statement":[` + tls + "," + topic + `]}`, "lets in more"},
		{"RedriveAllowPolicy", `{"redrivePermission":"denyAll"}`, `{"redrivePermission":"allowAll"}`, "more queues"},
		{
			"RedriveAllowPolicy", `{"redrivePermission":"byQueue","sourceQueueArns":["a"]}`,
			`{"redrivePermission":"byQueue","sourceQueueArns":["a","b"]}`, "more queues",
		},
	} {
		if risk := riskOf(c.name, c.is, c.wanted); !strings.Contains(risk, c.risk) || risk == "" {
			t.Errorf("%s from %s to %s: %q, want %q", c.name, c.is, c.wanted, risk, c.risk)
		}
		if risk := riskOf(c.name, c.wanted, c.is); risk != "" {
			t.Errorf("%s from %s to %s: %q", c.name, c.wanted, c.is, risk)
		}
	}
	for is, wanted := range map[string]bool{
		`{"Statement":[` + tls + "," + other + `]}`: true,  // another topic
		`{"Statement":` + topic + `}`:               false, // one statement, not in a list
		`{"Statement":[` + topic + "," + tls + `]}`: false,
		"":                true,
		`{"Statement":1}`: true,
	} {
		if risk := riskOf("Policy", is, `{"Statement":[`+tls+","+topic+`]}`); (risk != "") != wanted {
			t.Errorf("from %s: %q", is, risk)
		}
	}
	if riskOf("KmsMasterKeyId", "alias/a", "") == "" || riskOf("DelaySeconds", "0", "900") != "" {
		t.Error("another key is no risk, or a delay is one")
	}
	if riskOf("RedriveAllowPolicy", "", `{"redrivePermission":"allowAll"}`) != "" {
		t.Error("what is the default anyway is a risk")
	}
}

// A change that AWS makes only after minutes says so.
func TestSlowChanges(t *testing.T) {
	for name, want := range map[string]string{
		"FilterPolicy": "15 minutes", "MessageRetentionPeriod": "15 minutes", "VisibilityTimeout": "",
	} {
		same := func(string, string, string) bool { return false }
		all := compared(driver.Difference{}, nil, map[string]string{name: "1"}, same)
		if len(all) != 1 || !strings.Contains(all[0].Note, want) || (all[0].Note == "") != (want == "") {
			t.Errorf("%s: %+v", name, all)
		}
	}
}
