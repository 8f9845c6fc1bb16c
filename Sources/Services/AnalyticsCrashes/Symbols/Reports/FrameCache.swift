import Foundation
import Synchronization

/// A cache of resolved addresses: most crashes of a version occur in few places.
final class FrameCache: Sendable {
    private static let maximumCount = 50_000

    private struct Key: Hashable {
        var part: UUID
        var offset: UInt64
    }

    private let known = Mutex<[Key: [SourceFrame]]>([:])

    func frames(at offsets: Set<UInt64>, in part: UUID) -> [UInt64: [SourceFrame]] {
        known.withLock { known in
            var frames: [UInt64: [SourceFrame]] = [:]
            for offset in offsets { frames[offset] = known[Key(part: part, offset: offset)] }
            return frames
        }
    }

    func remember(_ frames: [UInt64: [SourceFrame]], in part: UUID) {
        known.withLock { known in
            if known.count + frames.count > Self.maximumCount { known.removeAll() }
            for (offset, found) in frames { known[Key(part: part, offset: offset)] = found }
        }
    }
}
