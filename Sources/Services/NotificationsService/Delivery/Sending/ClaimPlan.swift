import Foundation

/// Who gets how much of the room that there is: each space as much as any other, and of a space each message. So one app's million does not hold up
/// another's single push, nor its own next message.
enum ClaimPlan {
    /// Rows that one statement claims at the most.
    static let maximumRows = 1_000

    /// - Parameter limit: of the space that a message is of; nil: none.
    static func shares(_ work: [DeliveryQueue.Work], room: Int, raisesBadge: (UUID) -> Bool, limit: (DeliveryQueue.Work) -> Int?) -> [ClaimShare] {
        let open = Dictionary(grouping: work, by: \.space).values.compactMap { work -> (messages: [DeliveryQueue.Work], limit: Int)? in
            let limit = limit(work[0]) ?? Int.max
            return limit == 0 ? nil : (work, limit)
        }
        guard !open.isEmpty else { return [] }
        let room = min(room, maximumRows)
        let ofSpace = max(1, room / open.count)
        var left = room
        var shares: [ClaimShare] = []
        for (messages, limit) in open {
            var here = min(ofSpace, limit)
            let ofMessage = max(1, here / messages.count)
            for work in messages where here > 0 && left > 0 {
                let count = min(ofMessage, here, left)
                shares.append(ClaimShare(message: work.message, limit: count, raisesBadge: raisesBadge(work.message)))
                here -= count
                left -= count
            }
        }
        return shares
    }
}
