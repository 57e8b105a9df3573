// Package processes stops and kills real processes that consume over a real socket, and checks what becomes of each
// message. The package has tests only.
//
// A scene is an embedded server on a socket, a producer, and a few workers: processes of the program in the folder
// worker, each with a consumer of the channel. The workers write down when a handler starts and ends. The test stops or
// kills one worker after another in the middle of the traffic, starts another in its place, and compares what the
// workers wrote with what the server has.
package processes
