/// A first-in, first-out queue that reuses its storage.
struct FIFO<Element> {
    private var storage: [Element?] = []
    private var head = 0
    private(set) var count = 0

    var isEmpty: Bool { count == 0 }

    var first: Element? { count == 0 ? nil : storage[head] }

    mutating func append(_ element: Element) {
        if count == storage.count { grow() }
        storage[slot(count)] = element
        count += 1
    }

    mutating func prepend(_ element: Element) {
        if count == storage.count { grow() }
        head = slot(storage.count - 1)
        storage[head] = element
        count += 1
    }

    mutating func popFirst() -> Element? {
        guard count > 0, let element = storage[head] else { return nil }
        storage[head] = nil
        head = slot(1)
        count -= 1
        return element
    }

    mutating func removeAll() -> [Element] {
        var all: [Element] = []
        all.reserveCapacity(count)
        while let element = popFirst() { all.append(element) }
        return all
    }

    /// Calls `body` with every element, first to last.
    func forEach(_ body: (Element) -> Void) {
        for offset in 0..<count { storage[slot(offset)].map(body) }
    }

    func contains(where isWanted: (Element) -> Bool) -> Bool {
        (0..<count).contains { storage[slot($0)].map(isWanted) ?? false }
    }

    private func slot(_ offset: Int) -> Int {
        let index = head + offset
        return index < storage.count ? index : index - storage.count
    }

    private mutating func grow() {
        var larger: [Element?] = []
        larger.reserveCapacity(max(16, storage.count * 2))
        for offset in 0..<count { larger.append(storage[slot(offset)]) }
        larger.append(contentsOf: repeatElement(nil, count: max(16, storage.count * 2) - count))
        storage = larger
        head = 0
    }
}
