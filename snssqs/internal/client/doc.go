// Package client makes calls to AWS. Its nouns are the clients of the services, with connections, deadlines and retries
// as this library needs them; the batch, whose answer must mention every entry; and the class of an error.
package client
