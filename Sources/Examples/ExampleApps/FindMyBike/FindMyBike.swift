import Foundation
import MartletKit

struct Bike: Storable {
    static let collection = "Bikes"

    /// The id of a user; nil on the phones of all others.
    var owner: String?
    var make: String
    var model: String?
    var colour: String?
    /// The minor number that the bike's beacon sends.
    var beacon: Int
    var missing = false
}

/// A report that somebody's phone has come near a missing bike.
struct Sighting: Storable {
    static let collection = "Sightings"

    var bike: Pointer<Bike>
    var seen: Date
    /// Where the bike was seen; nil unless the person who saw it has agreed to share the place.
    var place: GeoPoint?
    var consented: Bool?
}

/// The app FindMyBike on one phone: what its screens call.
struct FindMyBike: Sendable {
    let martlet: Martlet

    // MARK: Owners

    func register(_ make: String, _ model: String, colour: String, beacon: Int) async throws -> Stored<Bike> {
        let me = try await martlet.users.current?.id
        return try await martlet.storage.create(
            Bike(owner: me, make: make, model: model, colour: colour, beacon: beacon))
    }

    func report(_ bike: Stored<Bike>, missing: Bool) async throws -> Stored<Bike> {
        try await martlet.storage.update(bike, .set(\.missing, to: missing))
    }

    func sightings(of bike: Stored<Bike>) async throws -> [Stored<Sighting>] {
        try await martlet.storage.find(Sighting.query().where(\.bike == Pointer(bike)).order(by: \.seen, .descending))
    }

    // MARK: Everybody

    /// All missing bikes, kept on the phone: a beacon is recognised without a connection.
    func missingBikes() async throws -> OfflineCollection<Bike> {
        try await martlet.offline.collection(Bike.self, where: \.missing == true)
    }

    /// The missing bike with this beacon; nil if it is not missing.
    func missingBike(beacon: Int) async throws -> Stored<Bike>? {
        try await missingBikes().first(Bike.query().where(\.beacon == beacon))
    }

    /// Reports that a missing bike was seen. Without a connection, the report waits on the phone.
    ///
    /// - Parameter place: Where the phone is. Leave it out unless the person has agreed to share it.
    func sighted(_ bike: Stored<Bike>, at place: GeoPoint?) async throws {
        let sightings = try await martlet.offline.collection(Sighting.self)
        try await sightings.create(
            Sighting(bike: Pointer(bike), seen: Date(), place: place, consented: place == nil ? nil : true))
        do {
            try await sightings.sync()
        } catch let error as MartletError where error.isConnectionFailure {
            return
        }
    }

    /// How many reports wait for a connection.
    func waitingReports() async throws -> Int {
        try await martlet.offline.collection(Sighting.self).pendingWrites().count
    }
}
