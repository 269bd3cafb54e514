"""What is known of items besides what methods index: metadata, texts, and conditions on them."""
