import Synchronization

/// Caches the results for recurring texts: most of an app's reports contain the same few hundred functions and files,
/// each of which takes some microseconds to process.
final class KnownNames: Sendable {
    private static let maximumCount = 20_000
    /// Longer texts are rare and not cached.
    private static let maximumLength = 400

    private let make: @Sendable (String) -> String
    private let known = Mutex<[String: String]>([:])

    init(_ make: @escaping @Sendable (String) -> String) {
        self.make = make
    }

    subscript(name: String) -> String {
        guard name.utf8.count <= Self.maximumLength else { return make(name) }
        if let made = known.withLock({ $0[name] }) { return made }
        let made = make(name)
        known.withLock { known in
            if known.count >= Self.maximumCount { known.removeAll(keepingCapacity: true) }
            known[name] = made
        }
        return made
    }
}
