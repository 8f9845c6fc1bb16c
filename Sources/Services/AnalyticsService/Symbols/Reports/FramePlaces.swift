import MartletCore

/// An address in an image, from its start.
struct FramePlace: Hashable {
    var debugID: DebugID
    var offset: UInt64
}

/// Where the frames of a report are, and what is to be asked of them.
struct FramePlaces {
    private static let maximumAddresses = 2_000
    private static let maximumImages = 32

    struct InImage {
        var image: EventImages.Image
        var offsets: Set<UInt64> = []
    }

    /// Of each frame; nil: in no image that is known.
    let places: [FramePlace?]
    /// What is to be looked up: the first 32 images that frames point into, of the app's own the first 64, and the first 2,000 addresses.
    let questions: [DebugID: InImage]

    init(of frames: [EventFrames.Frame], in images: EventImages) {
        var questions: [DebugID: InImage] = [:]
        var count = 0
        places = frames.map { frame in
            guard let (place, image) = Self.place(of: frame, images) else { return nil }
            let isOpen = questions[place.debugID] != nil || questions.count < Self.maximumImages
                || !image.isSystem && questions.count < 2 * Self.maximumImages
            if isOpen, count < Self.maximumAddresses, questions[place.debugID, default: InImage(image: image)].offsets.insert(place.offset).inserted {
                count += 1
            }
            return place
        }
        self.questions = questions
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
    /// How far back from where a call returns to there is surely something of the call; of 32-bit ARM the shortest one.
    fileprivate var callLength: UInt64 {
        guard let architecture, architecture.hasPrefix("arm") else { return 1 }
        return architecture.hasPrefix("arm64") ? 4 : 2
    }

    var missing: MissingImage { MissingImage(debugID: debugID.description, name: name, architecture: architecture) }
}
