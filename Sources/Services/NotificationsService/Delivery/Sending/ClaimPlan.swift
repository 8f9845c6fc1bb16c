import Foundation

/// Divides the free capacity equally: among spaces, then among a space's messages and push services. One app's million
/// deliveries thus delay neither another app's single push nor its own next message.
struct ClaimPlan {
    /// The maximum number of rows claimed by one statement.
    static let maximumRows = 1_000

    /// How many more deliveries may be claimed. Each share reduces it.
    private(set) var room: Int
    /// How many of them may belong to at-most-once messages.
    private(set) var onceRoom: Int
    /// How a message changes badges, and whether it is sent at most once.
    let traits: (UUID) -> (badge: MessageBadge?, isAtMostOnce: Bool)

    init(room: Int, onceRoom: Int, traits: @escaping (UUID) -> (badge: MessageBadge?, isAtMostOnce: Bool)) {
        self.room = min(room, Self.maximumRows)
        self.onceRoom = onceRoom
        self.traits = traits
    }

    /// - Parameters:
    ///   - ofSpace: The limit for a space.
    ///   - ofLane: The limit for the lane of the work; nil for none.
    mutating func shares(_ work: [DeliveryQueue.Work], ofSpace: (Int32) -> Int, ofLane: (DeliveryQueue.Work) -> Int?)
        -> [ClaimShare]
    {
        var lanes: [DeliveryLane: Int] = [:]
        for item in work where lanes[item.lane] == nil { lanes[item.lane] = ofLane(item) ?? Int.max }
        let open = Dictionary(grouping: work.filter { lanes[$0.lane, default: 0] > 0 }, by: \.lane.space)
        let perSpace = max(1, room / max(1, open.count))
        var shares: [ClaimShare] = []
        for (space, items) in open {
            var left = min(perSpace, ofSpace(space))
            let perItem = max(1, left / items.count)
            for item in items {
                let (badge, isAtMostOnce) = traits(item.message)
                let count = min(perItem, left, room, lanes[item.lane, default: 0], isAtMostOnce ? onceRoom : Int.max)
                guard count > 0 else { continue }
                shares.append(ClaimShare(message: item.message, service: item.lane.service, limit: count, badge: badge))
                left -= count
                room -= count
                lanes[item.lane, default: 0] -= count
                if isAtMostOnce { onceRoom -= count }
            }
        }
        return shares
    }
}
