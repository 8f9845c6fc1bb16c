import MartletCore

/// An offset in an image.
struct FramePlace: Hashable {
    var debugID: DebugID
    var offset: UInt64
}

/// The places of a report's frames, and the lookups they need.
struct FramePlaces {
    private static let maximumAddresses = 2_000
    private static let maximumImages = 32

    /// The offsets to look up in an image.
    struct Lookup {
        var image: EventImages.Image
        var offsets: Set<UInt64> = []
    }

    /// The place of each frame; nil if it is in no known image.
    let places: [FramePlace?]
    /// The lookups to make: the first 32 images that frames point to, or the first 64 for the app's own, and the first
    /// 2,000 addresses.
    let lookups: [DebugID: Lookup]

    init(of frames: [EventFrames.Frame], in images: EventImages) {
        var lookups: [DebugID: Lookup] = [:]
        var count = 0
        places = frames.map { frame in
            guard let (place, image) = Self.place(of: frame, images) else { return nil }
            let isIncluded =
                lookups[place.debugID] != nil || lookups.count < Self.maximumImages
                || !image.isSystem && lookups.count < 2 * Self.maximumImages
            if isIncluded, count < Self.maximumAddresses,
                lookups[place.debugID, default: Lookup(image: image)].offsets.insert(place.offset).inserted
            {
                count += 1
            }
            return place
        }
        self.lookups = lookups
    }

    private static func place(of frame: EventFrames.Frame, _ images: EventImages) -> (FramePlace, EventImages.Image)? {
        guard let address = frame.value["instruction_addr"]?.machineAddress,
            let image = images.image(of: address, imageAddress: frame.value["image_addr"]?.machineAddress)
        else { return nil }
        let offset = address - image.address
        let step = frame.isExact ? 0 : image.callLength
        return (FramePlace(debugID: image.debugID, offset: offset >= step ? offset - step : offset), image)
    }
}

extension EventImages.Image {
    /// The distance from a return address back to a byte that is certainly part of the call; on 32-bit ARM, the length
    /// of the shortest call.
    fileprivate var callLength: UInt64 {
        guard let architecture, architecture.hasPrefix("arm") else { return 1 }
        return architecture.hasPrefix("arm64") ? 4 : 2
    }

    var missing: MissingImage { MissingImage(debugID: debugID.description, name: name, architecture: architecture) }
}
