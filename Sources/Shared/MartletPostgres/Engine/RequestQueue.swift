/// Unsent requests in order of arrival. Requests that were given up stay in the queue until their turn or the next
/// `compact`.
struct RequestQueue {
    private var requests = FIFO<Request>()
    private var abandonedCount = 0

    /// Number of requests that were not given up.
    var count: Int { requests.count - abandonedCount }
    var isEmpty: Bool { count == 0 }

    /// The next request that was not given up.
    mutating func first() -> Request? {
        while let request = requests.first {
            guard request.isDone else { return request }
            _ = requests.popFirst()
            abandonedCount -= 1
        }
        return nil
    }

    mutating func removeFirst() { _ = requests.popFirst() }

    mutating func append(_ request: Request) { requests.append(request) }

    mutating func prepend(_ request: Request) { requests.prepend(request) }

    /// Records that a queued request was given up.
    mutating func didGiveUp() {
        abandonedCount += 1
        if abandonedCount > 1000, abandonedCount > requests.count / 2 { compact() }
    }

    func forEach(_ body: (Request) -> Void) {
        requests.forEach { if !$0.isDone { body($0) } }
    }

    private mutating func compact() {
        for request in requests.removeAll() where !request.isDone { requests.append(request) }
        abandonedCount = 0
    }
}
