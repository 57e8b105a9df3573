package trust

import "testing"

func TestCertificatesComeFromSNS(t *testing.T) {
	for told, want := range map[string]bool{
		"https://sns.eu-west-1.amazonaws.com/SimpleNotificationService-1.pem": true,
		"https://sns.us-gov-west-1.amazonaws.com/a.pem":                       true,
		"https://sns.cn-north-1.amazonaws.com.cn/a.pem":                       true,
		"http://sns.eu-west-1.amazonaws.com/a.pem":                            false,
		"https://sns.eu-west-1.amazonaws.com/a":                               false,
		"https://sns.eu-west-1.amazonaws.com:444/a.pem":                       false,
		"https://sns.eu-west-1.amazonaws.com.evil.example/a.pem":              false,
		"https://evil.example/sns.eu-west-1.amazonaws.com/a.pem":              false,
		"https://sns.eu-west-1.amazonaws.com@evil.example/a.pem":              false,
		"https://bucket.sns.eu-west-1.amazonaws.com/a.pem":                    false,
		"https://s3.eu-west-1.amazonaws.com/a.pem":                            false,
		"https://me@sns.eu-west-1.amazonaws.com/a.pem":                        false,
		"https://sns.eu-west-1.amazonaws.com/a.pem\nHost: evil.example":       false,
		"": false,
	} {
		if at, err := NewSignatures(nil, nil).address(told); (err == nil) != want || want && at != told {
			t.Errorf("%q is read at %q, %v", told, at, err)
		}
	}
	local := "http://127.0.0.1:4566/"
	at, err := NewSignatures(nil, &local).address("http://localhost:4566/cert.pem")
	if err != nil || at != "http://127.0.0.1:4566/cert.pem" {
		t.Errorf("a local certificate is read at %q, %v", at, err)
	}
}
