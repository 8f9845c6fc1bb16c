import Synchronization

/// Caches what is computed from names: most of an app's reports contain the same few hundred functions and files, each
/// of which takes some microseconds to process.
final class NameCache: Sendable {
    private static let maximumCount = 20_000
    /// In bytes; longer names are rare and not cached.
    private static let maximumLength = 400

    private let compute: @Sendable (String) -> String
    private let results = Mutex<[String: String]>([:])

    init(_ compute: @escaping @Sendable (String) -> String) {
        self.compute = compute
    }

    subscript(name: String) -> String {
        guard name.utf8.count <= Self.maximumLength else { return compute(name) }
        if let result = results.withLock({ $0[name] }) { return result }
        let result = compute(name)
        results.withLock { results in
            if results.count >= Self.maximumCount { results.removeAll(keepingCapacity: true) }
            results[name] = result
        }
        return result
    }
}
