// SPDX-License-Identifier: MIT
pragma solidity ^0.8.24;

import {Owned} from "./Owned.sol";

/// @title The root of a Merkle tree of all sanctioned addresses: millions of them in one slot.
/// @notice The leaves are sorted, and each leaf holds an address and the next one. A single path therefore proves that an address is
/// listed (it is the lower bound of a leaf), or that it is not (it is between the bounds of a leaf). Assay returns the proofs:
/// `GET /oracle/proof/{chain}/{address}`.
///
/// - Bound of an address: its number plus 1. 0 is the bound before all addresses, and 2^160 + 1 the bound after all.
/// - Leaf: keccak256(0x00, lower bound, higher bound), each bound 21 bytes. `size` addresses have `size + 1` leaves.
/// - Node: keccak256(0x01, left, right). A node cannot pass for a leaf, because their first bytes differ.
/// - A missing node on the right side is 32 zero bytes, so that every path has the same length.
contract SanctionsRoot is Owned {
    struct Proof {
        uint168 low;
        uint168 high;
        /// Number of the leaf, from 0.
        uint256 index;
        /// The sibling at each level, from the leaf upward.
        bytes32[] path;
    }

    /// More leaves than this would not be a list of addresses but an error.
    uint64 public constant SIZE_MAX = type(uint32).max;
    /// A root that is not renewed stops answering: the lists behind it have changed.
    uint64 public constant LIFE_MAX = 30 days;

    /// The only account that may publish a root.
    address public pusher;
    bytes32 public root;
    /// Increases by one with each root.
    uint64 public epoch;
    /// Seconds since 1970.
    uint64 public expiresAt;
    /// Number of addresses.
    uint64 public size;
    /// Length of every path.
    uint8 public depth;

    event PusherSet(address indexed pusher);
    /// @param snapshot SHA-256 of the data version of the labels.
    event RootPublished(uint64 indexed epoch, bytes32 root, uint64 size, uint64 expiresAt, bytes32 snapshot);

    error NotPusher(address caller);
    error WrongEpoch(uint64 epoch, uint64 expected);
    error WrongExpiry(uint64 expiresAt);
    error TooLarge(uint64 size);
    error EmptyRoot();
    error RootExpired(uint64 expiresAt);
    error InvalidProof();
    error NotBetween(address account, uint168 low, uint168 high);
    error Listed(address account);

    constructor(address pusher_) {
        pusher = pusher_;
        emit PusherSet(pusher_);
    }

    function setPusher(address pusher_) external onlyOwner {
        pusher = pusher_;
        emit PusherSet(pusher_);
    }

    /// @notice Replaces the root. Proofs against the earlier root are invalid from then on.
    /// @param epoch_ The present epoch plus one, so that a transaction that is sent twice or overtaken has no effect.
    function publish(bytes32 root_, uint64 size_, uint64 expiresAt_, uint64 epoch_, bytes32 snapshot) external {
        if (msg.sender != pusher) revert NotPusher(msg.sender);
        if (epoch_ != epoch + 1) revert WrongEpoch(epoch_, epoch + 1);
        if (expiresAt_ <= block.timestamp || expiresAt_ > block.timestamp + LIFE_MAX) revert WrongExpiry(expiresAt_);
        if (size_ > SIZE_MAX) revert TooLarge(size_);
        if (root_ == bytes32(0)) revert EmptyRoot();
        uint8 levels = 0;
        // 2^levels is the first power of two with room for all `size_ + 1` leaves.
        while ((uint256(1) << levels) < uint256(size_) + 1) levels++;
        root = root_;
        epoch = epoch_;
        expiresAt = expiresAt_;
        size = size_;
        depth = levels;
        emit RootPublished(epoch_, root_, size_, expiresAt_, snapshot);
    }

    /// @notice Returns whether an address is listed. Reverts if the root has expired or the proof is not about this address.
    function isListed(address account, Proof calldata proof) public view returns (bool) {
        if (block.timestamp >= expiresAt) revert RootExpired(expiresAt);
        uint256 levels = depth;
        if (proof.path.length != levels || proof.index > size) revert InvalidProof();
        bytes32 node = keccak256(abi.encodePacked(bytes1(0x00), proof.low, proof.high));
        uint256 index = proof.index;
        for (uint256 level = 0; level < levels; level++) {
            bytes32 sibling = proof.path[level];
            node = index & 1 == 0
                ? keccak256(abi.encodePacked(bytes1(0x01), node, sibling))
                : keccak256(abi.encodePacked(bytes1(0x01), sibling, node));
            index >>= 1;
        }
        if (node != root) revert InvalidProof();
        uint256 place = uint256(uint160(account)) + 1;
        if (place == proof.low) return true;
        if (place > proof.low && place < proof.high) return false;
        revert NotBetween(account, proof.low, proof.high);
    }

    /// @notice Reverts unless the proof shows that an address is not listed. The one line that a guard needs.
    function requireNotListed(address account, Proof calldata proof) external view {
        if (isListed(account, proof)) revert Listed(account);
    }
}
