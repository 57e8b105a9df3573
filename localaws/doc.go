// Package localaws is an AWS on your machine.
//
// Nouns: a Server holds everything of one account and region; its services
// (SQS) are models behind the wire; a control is a function that watches, fails,
// delays or drops calls; the clock is the server's own and can be moved.
//
//	server, err := localaws.New(nil)
//	defer server.Close()
//	client := sqs.New(sqs.Options{
//		Region:       "us-east-1",
//		BaseEndpoint: aws.String("http://localaws"), // any host: no socket is opened
//		HTTPClient:   &http.Client{Transport: server.Transport()},
//		Credentials:  aws.AnonymousCredentials{},
//	})
//
// Listen opens an address for clients of other processes and languages. Any key
// and secret are accepted; signatures are not checked.
//
// A server made inside a testing/synctest bubble lives in its virtual time.
package localaws
