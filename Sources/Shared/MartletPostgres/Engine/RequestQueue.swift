/// Requests not yet sent, first come, first served. Those given up meanwhile stay as husks until their turn or the next `compact`.
struct RequestQueue {
    private var requests = FIFO<Request>()
    private var husks = 0

    /// Requests that somebody waits for.
    var count: Int { requests.count - husks }
    var isEmpty: Bool { count == 0 }

    /// The next request that somebody waits for.
    mutating func first() -> Request? {
        while let request = requests.first {
            guard request.isDone else { return request }
            _ = requests.popFirst()
            husks -= 1
        }
        return nil
    }

    mutating func removeFirst() { _ = requests.popFirst() }

    mutating func append(_ request: Request) { requests.append(request) }

    mutating func prepend(_ request: Request) { requests.prepend(request) }

    /// A request in the queue was given up.
    mutating func didGiveUp() {
        husks += 1
        if husks > 1000, husks > requests.count / 2 { compact() }
    }

    func forEach(_ body: (Request) -> Void) {
        requests.forEach { if !$0.isDone { body($0) } }
    }

    private mutating func compact() {
        for request in requests.removeAll() where !request.isDone { requests.append(request) }
        husks = 0
    }
}
