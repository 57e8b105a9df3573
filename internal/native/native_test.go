package native

import (
	"maps"
	"testing"
)

// A value that the service would refuse is found.
func TestCheck(t *testing.T) {
	all := Queue()
	maps.Copy(all, Topic())
	for name, values := range map[string]struct{ right, wrong []string }{
		"KmsDataKeyReusePeriodSeconds": {[]string{"60", "86400"}, []string{"59", "86401", "", "1m"}},
		"RedriveAllowPolicy":           {[]string{`{"redrivePermission":"denyAll"}`}, []string{"", "denyAll", "[]"}},
		"SignatureVersion":             {[]string{"1", "2"}, []string{"3", ""}},
		"SQSSuccessFeedbackSampleRate": {[]string{"0", "100"}, []string{"101", "-1"}},
		"DisplayName":                  {[]string{"Shop"}, []string{""}},
	} {
		for _, value := range values.right {
			if err := all[name].Check(value); err != nil {
				t.Errorf("%s = %q: %v", name, value, err)
			}
		}
		for _, value := range values.wrong {
			if all[name].Check(value) == nil {
				t.Errorf("%s = %q is accepted", name, value)
			}
		}
	}
}

// Set leaves out an attribute that nobody has set, whether the service returns its default or nothing.
func TestSet(t *testing.T) {
	is := map[string]string{
		"MaximumMessageSize": "1048576", "ReceiveMessageWaitTimeSeconds": "20", "DelaySeconds": "9",
		"RedriveAllowPolicy": `{"redrivePermission": "denyAll"}`,
	}
	got := Set(Queue(), is)
	if len(got) != 2 || got["ReceiveMessageWaitTimeSeconds"] != "20" || got["RedriveAllowPolicy"] == "" {
		t.Errorf("set are %v", got)
	}
	if got := Set(Topic(), map[string]string{"SignatureVersion": "1", "DisplayName": ""}); got != nil {
		t.Errorf("of a new topic, set are %v", got)
	}
	same := Queue()["RedriveAllowPolicy"]
	if !same.Same(is["RedriveAllowPolicy"], `{"redrivePermission":"denyAll"}`) || same.Same("", "{}") {
		t.Error("documents are not compared as JSON")
	}
}
