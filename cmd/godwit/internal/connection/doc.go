// Package connection finds what the command talks to. A context is a named connection of the file godwit.yaml; the
// chosen one is named by a flag or a variable, or was chosen for the file before. Its settings become the variables
// that the clients of AWS and Kafka read, so that everything that the command opens or starts uses them.
package connection
